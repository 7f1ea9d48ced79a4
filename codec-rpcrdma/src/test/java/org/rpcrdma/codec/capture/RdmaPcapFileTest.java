// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.codec.capture.PcapTcpConnection.Way;

class RdmaPcapFileTest {

    private static final int MIB = 1 << 20;
    private static final int SYN = 0x02;

    @TempDir private Path directory;

    private Path path(String name) {
        return directory.resolve(name);
    }

    private static PcapIwarpConnection connection(RdmaPcapFile file, int port) throws IOException {
        InetAddress local = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        PcapIwarpConnection made =
                new PcapIwarpConnection(
                        file,
                        new InetSocketAddress(local, port),
                        new InetSocketAddress(local, 20049));
        made.opened(Way.SENT, new byte[] {1}, new byte[] {2});
        return made;
    }

    private static void send(PcapIwarpConnection connection, int bytes) {
        connection.send(Way.SENT, Unpooled.wrappedBuffer(new byte[bytes]));
    }

    private List<Packet> packets(String name) throws IOException {
        return Packet.in(path(name));
    }

    private List<String> names() throws IOException {
        try (var files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void theOldestFileIsOverwritten() throws IOException {
        try (RdmaPcapFile file = RdmaPcapFile.builder(path("f")).maxBytes(MIB).files(3).create()) {
            PcapIwarpConnection connection = connection(file, 1000);
            for (int i = 0; i < 500; i++) {
                send(connection, 10_000);
            }
        }
        assertThat(names()).containsExactly("f", "f.1", "f.2");
        for (String name : names()) {
            assertThat(Files.size(path(name))).isLessThanOrEqualTo(MIB);
        }
        assertThat(Files.size(path("f.1"))).isGreaterThan(MIB - 20_000);
    }

    /** A dissector needs the start-up of a connection to understand what follows. */
    @Test
    void eachFileShowsTheStartUpOfEachConnection() throws IOException {
        try (RdmaPcapFile file = RdmaPcapFile.builder(path("f")).maxBytes(MIB).files(2).create()) {
            PcapIwarpConnection[] connections = {connection(file, 1000), connection(file, 2000)};
            for (int i = 0; i < 150; i++) {
                send(connections[i % 2], 10_000);
            }
        }
        for (String name : names()) {
            List<Packet> packets = packets(name);
            for (int port : new int[] {1000, 2000}) {
                List<Packet> own = packets.stream().filter(p -> p.port() == port).toList();
                assertThat(own.get(0).flags()).isEqualTo(SYN);
                assertThat(own.stream().filter(p -> (p.flags() & SYN) != 0)).hasSize(1);
                Packet request = own.get(2);
                assertThat(request.text(16)).isEqualTo("MPA ID Req Frame");
                int next = 0;
                for (Packet packet : own) {
                    assertThat(packet.sequence()).isEqualTo(next);
                    next += packet.payloadLength() + ((packet.flags() & SYN) != 0 ? 1 : 0);
                }
            }
        }
    }

    @Test
    void ofOneFileTheBeginningIsKept() throws IOException {
        try (RdmaPcapFile file = RdmaPcapFile.builder(path("f")).maxBytes(MIB).files(1).create()) {
            PcapIwarpConnection connection = connection(file, 1000);
            for (int i = 0; i < 300; i++) {
                send(connection, 10_000);
            }
        }
        assertThat(names()).containsExactly("f");
        assertThat(Files.size(path("f"))).isBetween(MIB - 20_000L, (long) MIB);
        assertThat(packets("f").get(0).flags()).isEqualTo(SYN);
    }

    @Test
    void theSnapLengthBoundsWhatIsKept() throws IOException {
        try (RdmaPcapFile file = RdmaPcapFile.builder(path("f")).snapLength(101).create()) {
            send(connection(file, 1000), 10_000);
        }
        List<Packet> packets = packets("f");
        Packet last = packets.get(packets.size() - 1);
        assertThat(last.kept().capacity()).isEqualTo(101);
        assertThat(last.length()).isGreaterThan(10_000);
        assertThat(packets.get(0).kept().capacity()).isEqualTo(packets.get(0).length());
        byte[] head = Arrays.copyOf(Files.readAllBytes(path("f")), 48);
        assertThat(ByteBuffer.wrap(head).getInt(40)).as("snap length").isEqualTo(101);
    }

    @Test
    void aFileThatCannotBeginAnewIsGivenUp() throws IOException {
        Path nowhere = Files.createDirectory(path("d"));
        try (RdmaPcapFile file =
                RdmaPcapFile.builder(nowhere.resolve("f")).maxBytes(MIB).files(2).create()) {
            PcapIwarpConnection connection = connection(file, 1000);
            Files.createDirectories(nowhere.resolve("f.1").resolve("in the way"));
            for (int i = 0; i < 300; i++) {
                send(connection, 10_000);
            }
            assertThat(Files.size(nowhere.resolve("f"))).isLessThanOrEqualTo(MIB);
        }
    }

    @Test
    void aMistakeGetsASentence() {
        RdmaPcapFile.Builder builder = RdmaPcapFile.builder(path("f"));
        assertThatThrownBy(() -> builder.maxBytes(1000)).hasMessageContaining("maxBytes");
        assertThatThrownBy(() -> builder.files(0)).hasMessageContaining("files");
        assertThatThrownBy(() -> builder.snapLength(63)).hasMessageContaining("snapLength");
    }
}
