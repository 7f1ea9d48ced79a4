// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.NetId;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;

/** Requests to rpcbind (RFC 1833), and answers that no rpcbind should give. */
class RpcbindClientTest {

    private static final int NFS = 100_003;
    private static final InetSocketAddress SERVICE = new InetSocketAddress("192.0.2.1", 20049);

    private static <T> T get(Future<T> future) throws Exception {
        return future.get();
    }

    private static Throwable failure(Future<?> future) throws Exception {
        return future.await().cause();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"V1-BIND-04", "V1-BIND-05", "API-19"})
    void aServiceIsRegisteredFoundAndRemoved(boolean udp) throws Exception {
        try (RpcbindServer server = new RpcbindServer()) {
            RpcbindClient client =
                    udp
                            ? RpcbindClient.overUdp(server.udp())
                            : RpcbindClient.overStream(server.tcp());
            assertThat(get(client.set(NFS, 3, SERVICE, "me"))).isTrue();
            assertThat(get(client.set(NFS, 3, SERVICE, "me"))).isFalse();
            server.put(NFS, 3, "tcp", "192.0.2.1.8.1");
            server.put(NFS, 3, "rdma6", "::.78.81");
            assertThat(get(client.getAddress(NFS, 3, NetId.RDMA))).isEqualTo(SERVICE);
            assertThat(get(client.find(NFS, 3)))
                    .containsExactly(SERVICE, new InetSocketAddress(NetUtil.LOCALHOST4, 20049));
            assertThat(get(client.unset(NFS, 3, NetId.RDMA, "you"))).isFalse();
            assertThat(get(client.unset(NFS, 3, NetId.RDMA, "me"))).isTrue();
            assertThat(failure(client.getAddress(NFS, 3, NetId.RDMA)))
                    .isInstanceOf(RpcbindException.class)
                    .hasMessageContaining("program 100003 version 3 is not registered");
            assertThat(failure(client.find(NFS, 4)))
                    .isInstanceOf(RpcbindException.class)
                    .hasMessageContaining("netid rdma or rdma6");
        }
    }

    @Test
    void badEntriesOfTheListAreSkipped() throws Exception {
        try (RpcbindServer server = new RpcbindServer()) {
            RpcbindClient client = RpcbindClient.overStream(server.tcp());
            server.put(NFS, 3, "rdma", "192.0.2.1.0.0");
            server.put(NFS, 4, "rdma", "192.0.2.1.0.0");
            server.put(NFS, 3, "rdma6", "::.78.81");
            server.put(NFS, 5, "rdma", "no address");
            assertThat(get(client.find(NFS, 3)))
                    .containsExactly(new InetSocketAddress(NetUtil.LOCALHOST4, 20049));
            assertThat(failure(client.find(NFS, 4)))
                    .isInstanceOf(RpcbindException.class)
                    .hasMessageContaining("192.0.2.1.0.0 (expected: a port)");
            assertThat(failure(client.find(NFS, 5)))
                    .isInstanceOf(RpcbindException.class)
                    .hasMessageContaining("no address");
        }
    }

    /** RFC 1833, 2.1; RFC 5531, 9. */
    @Test
    void requestsAreThoseOfTheSpecification() throws Exception {
        try (RpcbindServer server = new RpcbindServer()) {
            RpcbindClient client = RpcbindClient.overStream(server.tcp());
            get(client.set(NFS, 3, SERVICE, "me"));
            failure(client.getAddress(NFS, 4, NetId.RDMA6));
            get(client.find(NFS, 3));
            String header = "000000000000000000000002000186a000000004";
            String noAuth = "00000000".repeat(4);
            assertThat(server.calls)
                    .extracting(ByteBufUtil::hexDump)
                    .containsExactly(
                            header
                                    + "00000001"
                                    + noAuth
                                    + "000186a300000003"
                                    + "0000000472646d61"
                                    + "0000000f3139322e302e322e312e37382e383100"
                                    + "000000026d650000",
                            header
                                    + "00000003"
                                    + noAuth
                                    + "000186a300000004"
                                    + "0000000572646d6136000000"
                                    + "0000000000000000",
                            header + "00000004" + noAuth);
        }
    }

    /** A reply of these words after the XID, as one record. */
    private static Function<ByteBuf, List<byte[]>> reply(String hex) {
        return call ->
                List.of(
                        RpcbindServer.bytes(
                                Unpooled.buffer()
                                        .writeInt(0x80000000 | 4 + hex.length() / 2)
                                        .writeInt(call.getInt(0))
                                        .writeBytes(ByteBufUtil.decodeHexDump(hex))));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "00000001",
                "0000000000000000",
                "00000001" + "00000000" + "0000000000000000" + "00000001",
                "00000001" + "00000001" + "00000001" + "00000005",
                "00000001" + "00000000" + "00000000" + "7fffffff" + "00000000",
                "00000001" + "00000000" + "0000000000000000" + "00000000",
                "00000001" + "00000000" + "0000000000000000" + "00000000" + "ffffffff",
                "00000001" + "00000000" + "0000000000000000" + "00000000" + "7ffffffe",
                "00000001" + "00000000" + "0000000000000000" + "00000000" + "00000402",
                "00000001" + "00000000" + "0000000000000000" + "00000000" + "0000000561626364",
                "00000001" + "00000000" + "0000000000000000" + "00000000" + "0000000461626364"
            })
    void whatIsNoAnswerFails(String hex) throws Exception {
        try (RpcbindServer server = new RpcbindServer(reply(hex))) {
            RpcbindClient client = RpcbindClient.overStream(server.tcp());
            for (Future<?> request :
                    List.of(
                            client.getAddress(NFS, 3, NetId.RDMA),
                            client.find(NFS, 3),
                            client.set(NFS, 3, SERVICE, "me"))) {
                assertThat(failure(request))
                        .isInstanceOf(RpcbindException.class)
                        .hasMessageContaining("rpcbind at ");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"00000000", "7fffffff", "ffffffff", "00100000" + "00", "80000002aabb"})
    void badRecordsFail(String hex) throws Exception {
        byte[] bytes = ByteBufUtil.decodeHexDump(hex);
        // One after another, until the requester has enough: it ends the connection by itself.
        try (RpcbindServer server =
                new RpcbindServer(call -> List.of(bytes, new byte[1 << 20], new byte[8]))) {
            assertThat(failure(RpcbindClient.overStream(server.tcp()).find(NFS, 3)))
                    .isInstanceOf(RpcbindException.class);
        }
    }

    @Test
    void anAnswerToAnotherCallOrNoneFails() throws Exception {
        try (RpcbindServer server =
                new RpcbindServer(
                        call ->
                                List.of(
                                        RpcbindServer.bytes(
                                                Unpooled.buffer()
                                                        .writeInt(0x80000000 | 28)
                                                        .writeBytes(
                                                                RpcbindServer.success(
                                                                        ~call.getInt(0)))
                                                        .writeInt(0))))) {
            assertThat(failure(RpcbindClient.overStream(server.tcp()).find(NFS, 3)))
                    .hasMessageContaining("another call");
        }
        try (RpcbindServer server = new RpcbindServer(call -> null)) {
            assertThat(failure(RpcbindClient.overStream(server.tcp()).find(NFS, 3)))
                    .hasMessageContaining("closed before the whole reply");
        }
    }

    @Test
    void silenceEndsWithTheTimeout() throws Exception {
        try (RpcbindServer server = new RpcbindServer(call -> List.of())) {
            for (RpcbindClient client :
                    List.of(
                            RpcbindClient.overStream(server.tcp()),
                            RpcbindClient.overUdp(server.udp()))) {
                assertThat(failure(client.withTimeout(Duration.ofMillis(20)).find(NFS, 3)))
                        .isInstanceOf(RpcbindException.class)
                        .hasCauseInstanceOf(SocketTimeoutException.class);
            }
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RpcbindClient.overUdp(SERVICE).withTimeout(Duration.ZERO))
                .withMessageContaining("PT0S");
    }

    @Test
    void datagramsThatAreNoReplyAreDropped() throws Exception {
        try (RpcbindServer server =
                new RpcbindServer(
                        call -> {
                            ByteBuf reply = RpcbindServer.success(call.getInt(0));
                            RpcbindServer.string(reply, "192.0.2.1.78.81");
                            return List.of(
                                    new byte[0],
                                    new byte[3],
                                    RpcbindServer.bytes(RpcbindServer.success(~call.getInt(0))),
                                    RpcbindServer.bytes(reply));
                        })) {
            assertThat(get(RpcbindClient.overUdp(server.udp()).getAddress(NFS, 3, NetId.RDMA)))
                    .isEqualTo(SERVICE);
        }
    }

    /** Version 4 is refused by PROG_MISMATCH, and the list of version 3 by PROC_UNAVAIL. */
    @Test
    void anOldRpcbindIsAskedAsItUnderstands() throws Exception {
        try (RpcbindServer server =
                new RpcbindServer(
                        call -> {
                            ByteBuf reply = RpcbindServer.success(call.getInt(0));
                            int status = reply.writerIndex() - 4;
                            if (call.getInt(16) != 3) {
                                reply.setInt(status, 2).writeInt(2).writeInt(3);
                            } else if (call.getInt(20) != 3) {
                                reply.setInt(status, 3);
                            } else {
                                boolean is4 = call.getInt(48) == 4;
                                RpcbindServer.string(reply, is4 ? "192.0.2.1.78.81" : "");
                            }
                            ByteBuf record =
                                    Unpooled.buffer()
                                            .writeInt(0x80000000 | reply.readableBytes())
                                            .writeBytes(reply);
                            return List.of(RpcbindServer.bytes(record));
                        })) {
            assertThat(get(RpcbindClient.overStream(server.tcp()).find(NFS, 3)))
                    .containsExactly(SERVICE);
        }
    }

    @Test
    void anRpcbindThatHasNotTheProcedureSaysSo() throws Exception {
        try (RpcbindServer server =
                new RpcbindServer(
                        reply("00000001" + "00000000" + "0000000000000000" + "00000003"))) {
            assertThat(
                            failure(
                                    RpcbindClient.overStream(server.tcp())
                                            .getAddress(NFS, 3, NetId.RDMA)))
                    .isInstanceOf(RpcbindException.class)
                    .hasMessageContaining("PROC_UNAVAIL");
        }
    }

    @Property(tries = 500)
    void anyResultsAreReadOrRefused(@ForAll @Size(max = 200) byte[] results) {
        ByteBuf in = Unpooled.wrappedBuffer(results);
        try {
            RpcbindMapping.readList(new XdrReader(in));
        } catch (MalformedXdrException e) {
            assertThat(e).hasMessageContaining("expected");
        }
        in.readerIndex(0);
        try {
            assertThat(RpcbindMapping.readString(new XdrReader(in))).isNotNull();
        } catch (MalformedXdrException e) {
            assertThat(e).hasMessageContaining("expected");
        }
    }

    @Test
    void aListThatIsCutFails() {
        ByteBuf list = Unpooled.buffer().writeInt(1);
        new RpcbindMapping(NFS, 3, "rdma", "192.0.2.1.78.81", "me").writeTo(new XdrWriter(list));
        for (int end = 0; end <= list.writerIndex(); end++) {
            ByteBuf cut = list.copy(0, end);
            assertThatExceptionOfType(MalformedXdrException.class)
                    .isThrownBy(() -> RpcbindMapping.readList(new XdrReader(cut)));
        }
    }
}
