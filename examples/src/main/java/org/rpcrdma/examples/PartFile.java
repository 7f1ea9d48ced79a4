// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * A file under another name until it is complete. What is not complete is deleted, also when the process is told
 * to end.
 */
final class PartFile implements AutoCloseable {

    private final Path target;
    private final Path part;
    private final Thread atExit = new Thread(this::deleteQuietly, "part-file");

    PartFile(Path target) {
        this.target = target;
        part =
                target.resolveSibling(
                        "." + target.getFileName() + "." + ProcessHandle.current().pid() + ".part");
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Where to write. */
    Path path() {
        return part;
    }

    /** Gives the file its name. */
    void complete() throws IOException {
        Files.move(
                part, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            return; // the process ends, and the thread does it
        }
        Files.deleteIfExists(part);
    }

    private void deleteQuietly() {
        try {
            Files.deleteIfExists(part);
        } catch (IOException e) {
            System.err.println("cannot delete " + part + ": " + e.getMessage());
        }
    }
}
