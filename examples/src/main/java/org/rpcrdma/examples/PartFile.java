// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Set;

/**
 * A file under another name until it is complete. What is not complete is deleted, also when the process is told
 * to end.
 */
final class PartFile implements AutoCloseable {

    private static final FileAttribute<?>[] ANY_MODE = {};

    private static final FileAttribute<?>[] OWNER_ONLY = {
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
    };

    private final Path target;
    private final Path part;
    private final FileChannel channel;
    private final Thread atExit = new Thread(this::deleteQuietly, "part-file");

    /** Makes the file, under a name that nobody knows before, with the mode of the one that it replaces. */
    PartFile(Path target) throws IOException {
        this.target = target;
        String unknown = Long.toHexString(new SecureRandom().nextLong());
        part = target.resolveSibling(".rpcrdma." + unknown + ".part");
        Runtime.getRuntime().addShutdownHook(atExit);
        boolean replaces = Files.exists(target);
        channel =
                FileChannel.open(
                        part,
                        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                        replaces ? OWNER_ONLY : ANY_MODE);
        try {
            if (replaces) {
                Files.setPosixFilePermissions(part, Files.getPosixFilePermissions(target));
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Where to write. */
    FileChannel channel() {
        return channel;
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
        channel.close();
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
