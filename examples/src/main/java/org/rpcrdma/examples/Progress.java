// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.Console;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.rpcrdma.examples.common.Printable;

/** A line on the terminal, if there is one and if it takes longer than a second; it changes once a second. */
final class Progress implements LongConsumer, AutoCloseable {

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String task;
    private final long total;
    private final long start = System.nanoTime();
    private final boolean isShown = isTerminal();
    private long next = start + INTERVAL_NANOS;
    private long done;

    /** @param total in bytes */
    Progress(String task, long total) {
        this.task = Printable.of(task);
        this.total = total;
    }

    @Override
    public void accept(long bytes) {
        done += bytes;
        if (isShown && System.nanoTime() - next > 0) {
            next += INTERVAL_NANOS;
            System.err.printf(Locale.ROOT, "\r%s: %,d of %,d MiB", task, done >> 20, total >> 20);
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
        if (next != start + INTERVAL_NANOS) {
            System.err.println();
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
