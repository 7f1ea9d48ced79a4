// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.Console;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.rpcrdma.examples.rpc.Printable;

/** A bar on the terminal, if there is one and if it takes longer than a second. */
final class Progress implements LongConsumer, AutoCloseable {

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long UNIT = 1 << 20;

    private final String task;
    private final long total;
    private final long start = System.nanoTime();
    private final boolean isShown = isTerminal();
    private long done;
    private ProgressBar bar;

    /** @param total in bytes */
    Progress(String task, long total) {
        this.task = Printable.of(task);
        this.total = total;
    }

    @Override
    public void accept(long bytes) {
        done += bytes;
        if (bar == null && isShown && System.nanoTime() - start > PATIENCE_NANOS) {
            bar =
                    new ProgressBarBuilder()
                            .setTaskName(task)
                            .setInitialMax(total)
                            .setUnit(" MiB", UNIT)
                            .setStyle(ProgressBarStyle.ASCII)
                            .showSpeed()
                            .startsFrom(0, Duration.ofNanos(System.nanoTime() - start))
                            .build();
        }
        if (bar != null) {
            bar.stepTo(Math.min(done, total));
        }
    }

    /** What was copied, how long it took, and how fast that is. */
    String summary() {
        double seconds = (System.nanoTime() - start) / 1e9;
        return String.format(
                Locale.ROOT,
                "%s: %,d bytes in %.2f s, %.1f MB/s",
                task,
                done,
                seconds,
                done / 1e6 / seconds);
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }

    /** Since Java 22 there is a console even where there is no terminal, and a method that tells. */
    @SuppressWarnings("SystemConsoleNull") // null on Java 17, asked on the others
    static boolean isTerminal() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            return (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException e) {
            return true;
        }
    }
}
