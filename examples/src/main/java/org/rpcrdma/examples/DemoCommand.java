// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.Callable;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.NfsServer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Everything in one process: a file goes to a server and comes back. */
@Command(
        name = "demo",
        description = {
            "Copies a file to an NFS server over RDMA and back, checks it, and shows what"
                    + " happened.",
            "Server and client are in this process, on the software RNIC, with a TCP connection"
                    + " between."
        },
        mixinStandardHelpOptions = true)
final class DemoCommand implements Callable<Integer> {

    private static final Set<StandardOpenOption> NEW_FILE =
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    private static final int ANY_PORT = 0;
    private static final int MODE = 0644;

    @Mixin private Capture capture;

    @Mixin private ConnectTimeout connectTimeout;

    @Mixin
    @SuppressWarnings("UnusedVariable") // picocli needs the field
    private Device device;

    @Spec private CommandSpec spec;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "What to copy (default: the class library of the running JDK).")
    private Path file;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = ByteCount.class,
            description =
                    "Copy only so much of the file, as 1000000, 900K, 10M or 1G (default: all of"
                            + " it).")
    private Long size;

    @Option(
            names = "--host",
            defaultValue = "127.0.0.1",
            paramLabel = "HOST",
            description =
                    "The address between the two (default: ${DEFAULT-VALUE}); an RDMA device needs"
                            + " one of its own.")
    private String host;

    @Override
    public Integer call() throws IOException {
        Duration limit = connectTimeout.checked();
        Path source =
                file != null ? file : Path.of(System.getProperty("java.home"), "lib", "modules");
        if (!Files.exists(source)) {
            throw new NoSuchFileException(source.toString());
        }
        if (!Files.isRegularFile(source)) {
            throw new IOException(source + ": not a regular file");
        }
        long length = Files.size(source);
        if (size != null) {
            Check.atLeast(spec, "--size", size, 1);
            if (size > length) {
                throw new IOException(
                        source + " has " + length + " bytes, fewer than --size " + size);
            }
            length = size;
        }
        try (TemporaryDirectory directory = new TemporaryDirectory("rpcrdma-demo")) {
            run(source, length, directory.path(), limit);
        }
        return 0;
    }

    private void run(Path source, long length, Path directory, Duration limit) throws IOException {
        Path exported = Files.createDirectory(directory.resolve("export"));
        Path original = directory.resolve("original");
        Path returned = directory.resolve("returned");
        String expected = copy(source, length, original);
        print("device   " + Device.inUse());
        print("file     " + source + ", " + length + " bytes");

        RpcRdmaConfig config = capture.applyTo(RpcRdmaConfig.builder()).build();
        InetSocketAddress local = new InetSocketAddress(InetAddress.getByName(host), ANY_PORT);
        try (Export export = new Export(exported, false, directory.resolve("handle.key"));
                NfsServer server = new NfsServer(export)) {
            InetSocketAddress nfsAddress = server.serveNfsOverRdma(local, RpcRdmaConfig.defaults());
            InetSocketAddress mountAddress = server.serveMountOverTcp(local);
            try (NfsSession session =
                    NfsSession.open(
                            nfsAddress, config, mountAddress, LocalUser.credential(), limit)) {
                // The server has counters of its own: those of the client tell both sides' story.
                DemoTable table = new DemoTable(session.nfs().connection().metrics());
                long start = System.nanoTime();
                Nfs3Client.Found root = session.find("/");
                Nfs3Client.Limits limits = session.nfs().limits(root.handle());
                Nfs3Client.Found remote = session.nfs().create(root.handle(), "file", MODE);
                double putSeconds = put(session, limits, remote, original);
                double getSeconds = get(session, limits, remote, length, returned);
                session.nfs().list(root.handle(), "/", entry -> {});
                double seconds = (System.nanoTime() - start) / 1e9;
                check("the server's file", expected, digest(exported.resolve("file")));
                check("the returned file", expected, digest(returned));
                print("SHA-256  " + expected + ", the same there and back");
                PrintWriter out = spec.commandLine().getOut();
                table.print(out, length, putSeconds, getSeconds, seconds);
                out.flush();
            }
        }
    }

    private static double put(
            NfsSession session, Nfs3Client.Limits limits, Nfs3Client.Found remote, Path original)
            throws IOException {
        long start = System.nanoTime();
        try (FileChannel local = FileChannel.open(original, StandardOpenOption.READ);
                Progress progress = new Progress("WRITE", local.size())) {
            new FileTransfer(session.nfs(), limits, progress).put(local, remote.handle(), "file");
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private static double get(
            NfsSession session,
            Nfs3Client.Limits limits,
            Nfs3Client.Found remote,
            long length,
            Path returned)
            throws IOException {
        long start = System.nanoTime();
        try (FileChannel local = FileChannel.open(returned, NEW_FILE);
                Progress progress = new Progress("READ", length)) {
            new FileTransfer(session.nfs(), limits, progress)
                    .get(remote.handle(), "file", length, local);
        }
        return (System.nanoTime() - start) / 1e9;
    }

    /** Copies so much of a file, and returns its digest. */
    private static String copy(Path source, long length, Path target) throws IOException {
        try (FileChannel in = FileChannel.open(source, StandardOpenOption.READ);
                FileChannel out = FileChannel.open(target, NEW_FILE)) {
            long done = 0;
            while (done < length) {
                long n = in.transferTo(done, length - done, out);
                if (n <= 0) {
                    throw new IOException(source + " became shorter");
                }
                done += n;
            }
        }
        return digest(target);
    }

    private static String digest(Path path) throws IOException {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
        try (InputStream in = new DigestInputStream(Files.newInputStream(path), digest)) {
            in.transferTo(OutputStream.nullOutputStream());
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static void check(String what, String expected, String actual) throws IOException {
        if (!actual.equals(expected)) {
            throw new IOException(
                    what + " is not the same: SHA-256 " + actual + " (expected: " + expected + ")");
        }
    }

    private void print(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }
}
