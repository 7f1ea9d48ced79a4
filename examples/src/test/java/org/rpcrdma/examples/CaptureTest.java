// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.capture.RdmaPcapFile;
import org.rpcrdma.examples.client.FileTransfer;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.NfsServer;

/** Captures of both ends of one connection, read by themselves and, where it is installed, by Wireshark. */
class CaptureTest {

    private static final InetSocketAddress ANY =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private static final int PACKET_BLOCK = 6;
    private static final int FILE_BYTES = 150_000;
    private static final int MODE = 0644;

    @TempDir private Path directory;

    private RpcRdmaMetrics counters;

    @Test
    void eachBlockIsWhole() throws Exception {
        exchange();
        for (String end : List.of("client", "server")) {
            ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(file(end)));
            assertThat(file.getInt(0)).isEqualTo(0x0A0D0D0A);
            int packets = 0;
            while (file.hasRemaining()) {
                int start = file.position();
                int type = file.getInt();
                int length = file.getInt();
                assertThat(length % 4).isZero();
                assertThat(file.getInt(start + length - 4))
                        .as("length at the end")
                        .isEqualTo(length);
                if (type == PACKET_BLOCK) {
                    packets++;
                    int captured = file.getInt(start + 20);
                    assertThat(file.getShort(start + 28 + 2) & 0xffff)
                            .as("length of the IP packet")
                            .isEqualTo(captured);
                }
                file.position(start + length);
            }
            assertThat(packets).isGreaterThan(20);
        }
    }

    @Test
    void wiresharkFindsAllCallsAndNothingMalformed() throws Exception {
        assumeTrue(hasTshark(), "tshark is not installed");
        exchange();
        long calls = counters.value(RpcRdmaCounter.CALLS_SENT);
        for (String end : List.of("client", "server")) {
            List<String> seen = tshark(end, "", "-e", "rpc.msgtyp", "-e", "nfs.procedure_v3");
            assertThat(seen.stream().filter(line -> line.startsWith("0\t")))
                    .as(end + ": calls")
                    .hasSize(Math.toIntExact(calls));
            assertThat(seen.stream().filter(line -> line.startsWith("1\t")))
                    .as(end + ": replies")
                    .hasSize(Math.toIntExact(calls));
            Predicate<String> isWrite = line -> line.equals("0\t7");
            assertThat(seen.stream().filter(isWrite)).as(end + ": WRITE").isNotEmpty();
            assertThat(tshark(end, "_ws.malformed", "-e", "frame.number")).isEmpty();
            assertThat(tshark(end, "rpcordma", "-e", "rpcordma.version"))
                    .isNotEmpty()
                    .allMatch(line -> line.startsWith("1"));
            long read =
                    tshark(end, "rpc.msgtyp == 1 && nfs.procedure_v3 == 6", "-e", "nfs.count3")
                            .stream()
                            .mapToLong(line -> Long.parseLong(line.split(",", -1)[0]))
                            .sum();
            assertThat(read).as(end + ": bytes read").isEqualTo(FILE_BYTES);
        }
    }

    /** A file there and back. */
    private void exchange() throws IOException {
        byte[] content = new byte[FILE_BYTES];
        new Random(1).nextBytes(content);
        Path exported = Files.createDirectory(directory.resolve("export"));
        try (RdmaPcapFile client = RdmaPcapFile.create(file("client"));
                RdmaPcapFile server = RdmaPcapFile.create(file("server"));
                Export export = new Export(exported, false, directory.resolve("key"));
                NfsServer nfs = new NfsServer(export)) {
            InetSocketAddress rdma =
                    nfs.serveNfsOverRdma(ANY, RpcRdmaConfig.builder().capture(server).build());
            InetSocketAddress mount = nfs.serveMountOverTcp(ANY);
            RpcRdmaConfig config = RpcRdmaConfig.builder().capture(client).build();
            try (NfsSession session = NfsSession.open(rdma, config, mount, NfsFixture.ROOT)) {
                counters = session.nfs().connection().metrics();
                Nfs3Client.Found root = session.find("/");
                Nfs3Client.Found made = session.nfs().create(root.handle(), "file", MODE);
                FileTransfer transfer =
                        new FileTransfer(
                                session.nfs(), session.nfs().limits(root.handle()), done -> {});
                Path original = Files.write(directory.resolve("original"), content);
                try (FileChannel in = FileChannel.open(original)) {
                    transfer.put(in, made.handle(), "file");
                }
                Path copy = directory.resolve("copy");
                try (FileChannel out =
                        FileChannel.open(
                                copy, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                    transfer.get(made.handle(), "file", FILE_BYTES, out);
                }
                assertThat(copy).hasBinaryContent(content);
            }
        }
    }

    private Path file(String end) {
        return directory.resolve(end + ".pcapng");
    }

    private static boolean hasTshark() {
        return Stream.of(System.getenv("PATH").split(":", -1))
                .anyMatch(path -> Files.isExecutable(Path.of(path, "tshark")));
    }

    private List<String> tshark(String end, String filter, String... fields)
            throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of("tshark", "-n", "-2", "-r", file(end).toString()));
        command.addAll(List.of("-o", "tcp.try_heuristic_first:TRUE"));
        if (!filter.isEmpty()) {
            command.addAll(List.of("-Y", filter));
        }
        command.addAll(List.of("-T", "fields"));
        command.addAll(List.of(fields));
        Path errors = directory.resolve("tshark.log");
        Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
        List<String> lines =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        .filter(line -> !line.isBlank())
                        .toList();
        assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
        return lines;
    }
}
