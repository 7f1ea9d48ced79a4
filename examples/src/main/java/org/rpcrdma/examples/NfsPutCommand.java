// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.concurrent.Callable;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsAttributes;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.client.NfsStatusException;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Copies a file to a server. */
@Command(
        name = "put",
        description = "Copies a file to the server.",
        mixinStandardHelpOptions = true)
final class NfsPutCommand implements Callable<Integer> {

    private static final int MODE = 0644;
    private static final int PERMISSIONS = 0777;

    @Mixin private NfsConnection connection;

    @Parameters(index = "0", paramLabel = "FILE", description = "The local file.")
    private Path file;

    @Parameters(
            index = "1",
            paramLabel = "URL",
            converter = NfsUrl.Converter.class,
            description = "nfs://HOST:PORT/PATH of the file, or of a directory for it.")
    private NfsUrl url;

    @Override
    public Integer call() throws IOException {
        if (!Files.exists(file)) {
            throw new NoSuchFileException(file.toString());
        }
        if (!Files.isRegularFile(file)) {
            throw new IOException(file + ": not a regular file");
        }
        try (FileChannel local = FileChannel.open(file, StandardOpenOption.READ)) {
            connection.run(url, session -> put(session, local));
        }
        return 0;
    }

    /** Under its final name the file is whole or not there. */
    private void put(NfsSession session, FileChannel local) throws IOException {
        NfsAttributes old = url.name().isEmpty() ? null : find(session);
        boolean isInto =
                url.name().isEmpty() || (old != null && old.type() == NfsAttributes.Type.DIRECTORY);
        String path = isInto ? url.path() + "/" + file.getFileName() : url.path();
        int mode = isInto || old == null ? MODE : old.mode() & PERMISSIONS;
        int slash = path.lastIndexOf('/');
        String name = path.substring(slash + 1);
        NfsHandle directory = session.find(path.substring(0, slash + 1)).handle();
        Nfs3Client nfs = session.nfs();
        String part = ".rpcrdma-" + Long.toHexString(new SecureRandom().nextLong()) + ".part";
        NfsHandle made = nfs.create(directory, part, mode).handle();
        try (Progress progress = new Progress("put " + file.getFileName(), local.size())) {
            new FileTransfer(nfs, nfs.limits(made), progress).put(local, made, path);
            nfs.rename(directory, part, name);
            connection.print(progress.summary());
        } catch (IOException | RuntimeException e) {
            try {
                nfs.remove(directory, part);
            } catch (IOException left) {
                e.addSuppressed(left);
            }
            throw e;
        }
    }

    /** What is there under the path of the URL; {@code null} for nothing. */
    private NfsAttributes find(NfsSession session) throws IOException {
        try {
            return session.find(url.path()).attributes();
        } catch (NfsStatusException e) {
            if (e.status() == Nfs3Status.NFS3ERR_NOENT) {
                return null;
            }
            throw e;
        }
    }
}
