// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsAttributes;
import org.rpcrdma.examples.client.NfsSession;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Copies a file from a server. */
@Command(
        name = "get",
        description = "Copies a file from the server.",
        mixinStandardHelpOptions = true)
final class NfsGetCommand implements Callable<Integer> {

    @Mixin private NfsConnection connection;

    @Parameters(
            index = "0",
            paramLabel = "URL",
            converter = NfsUrl.Converter.class,
            description = "nfs://HOST:PORT/PATH, where PATH starts with an exported path.")
    private NfsUrl url;

    @Parameters(
            index = "1",
            paramLabel = "FILE",
            description = "The local file, or a directory for it.")
    private Path file;

    @Override
    public Integer call() throws IOException {
        connection.run(url, this::get);
        return 0;
    }

    private void get(NfsSession session) throws IOException {
        Nfs3Client.Found found = session.find(url.path());
        if (found.attributes().type() != NfsAttributes.Type.FILE) {
            throw new IOException(url.path() + ": not a regular file");
        }
        Path target = Files.isDirectory(file) ? file.resolve(url.name()) : file;
        if (Files.exists(target) && !Files.isRegularFile(target)) {
            try (FileChannel local = FileChannel.open(target, StandardOpenOption.WRITE)) {
                copy(session, found, local);
            }
            return;
        }
        Path parent = target.toAbsolutePath().getParent();
        if (!Files.isDirectory(parent)) {
            throw new IOException(parent + ": no such directory");
        }
        try (PartFile part = new PartFile(target)) {
            String summary = copy(session, found, part.channel());
            part.complete();
            connection.print(summary);
        }
    }

    private String copy(NfsSession session, Nfs3Client.Found found, FileChannel local)
            throws IOException {
        long size = found.attributes().size();
        try (Progress progress = new Progress("get " + url.name(), size)) {
            new FileTransfer(session.nfs(), session.nfs().limits(found.handle()), progress)
                    .get(found.handle(), url.path(), size, local);
            return progress.summary();
        }
    }
}
