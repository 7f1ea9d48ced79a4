// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A directory that goes when it is closed. When the process is told to end before, the thread that has made it is
 * interrupted, and the end is held up until that thread has closed it: nobody makes files in it any more by then.
 */
final class TemporaryDirectory implements AutoCloseable {

    private static final long PATIENCE_SECONDS = 10;

    private final Path path;
    private final Thread owner = Thread.currentThread();
    private final Thread atEnd = new Thread(this::interruptAndWait, "end");
    private final CountDownLatch closed = new CountDownLatch(1);

    TemporaryDirectory(String prefix) throws IOException {
        path = Files.createTempDirectory(prefix);
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    Path path() {
        return path;
    }

    /** Deletes the directory and all that is in it. Does not come back when the process ends already. */
    @Override
    public void close() throws IOException {
        try (Stream<Path> paths = Files.walk(path)) {
            List<Path> deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
            for (Path each : deepestFirst) {
                Files.delete(each);
            }
        } finally {
            if (isEnding()) {
                closed.countDown();
                stayHere();
            }
        }
    }

    private boolean isEnding() {
        try {
            Runtime.getRuntime().removeShutdownHook(atEnd);
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    /** The one who has ended the process does not want to read what has failed because of that. */
    private static void stayHere() {
        while (true) {
            try {
                Thread.currentThread().join();
            } catch (InterruptedException e) {
                // It is the process that ends.
            }
        }
    }

    private void interruptAndWait() {
        owner.interrupt();
        try {
            closed.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
