// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsAttributes;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.client.NfsStatusException;
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

    private void put(NfsSession session, FileChannel local) throws IOException {
        String path = isDirectory(session) ? url.path() + "/" + file.getFileName() : url.path();
        int slash = path.lastIndexOf('/');
        Nfs3Client.Found directory = session.find(path.substring(0, slash + 1));
        Nfs3Client nfs = session.nfs();
        Nfs3Client.Found made = nfs.create(directory.handle(), path.substring(slash + 1), MODE);
        if (made.attributes().size() != 0) {
            // A server may leave a file as it is that it was to make (UNCHECKED).
            nfs.truncate(made.handle(), path, 0);
        }
        try (Progress progress = new Progress("put " + file.getFileName(), local.size())) {
            new FileTransfer(nfs, nfs.limits(made.handle()), progress)
                    .put(local, made.handle(), path);
            connection.print(progress.summary());
        }
    }

    private boolean isDirectory(NfsSession session) throws IOException {
        if (url.name().isEmpty()) {
            return true;
        }
        try {
            return session.find(url.path()).attributes().type() == NfsAttributes.Type.DIRECTORY;
        } catch (NfsStatusException e) {
            if (e.status() == Nfs3Status.NFS3ERR_NOENT) {
                return false;
            }
            throw e;
        }
    }
}
