// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.wire.TransportHeader;

/** The requester against a responder that is written by hand, well-behaved and not. */
class RequesterTest {

    private RpcPair pair;
    private final TransportHeader call = new TransportHeader();
    private int callPayload;
    private ByteBuf received;

    @BeforeEach
    void connect() throws Exception {
        pair = RpcPair.rawServer(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
    }

    @AfterEach
    void close() {
        if (received != null) {
            received.release();
        }
        pair.close();
    }

    /** Sends a call and takes its header apart at the responder. */
    private void send(ByteBuf message) throws Exception {
        if (received != null) {
            received.release();
        }
        pair.call(message);
        received = pair.server.takeBuffer();
        call.decodeFixed(received, 0);
        callPayload = call.decodeLists(received, 16, received.writerIndex(), 99);
        assertThat(callPayload).isPositive();
    }

    private TransportHeader mirrored(int proc) {
        TransportHeader header = new TransportHeader().set(call.xid(), 16, proc);
        header.writes().copy(call.writes());
        header.reply().copy(call.reply());
        for (int i = 0; i < header.writes().segments(); i++) {
            header.writes().length(i, 0);
        }
        for (int i = 0; i < header.reply().segments(); i++) {
            header.reply().length(i, 0);
        }
        return header;
    }

    private static ByteBuf message(TransportHeader header, ByteBuf payload) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        out.writeBytes(payload);
        payload.release();
        return out;
    }

    private static ByteBuf none() {
        return Unpooled.buffer(0);
    }

    /** The good reply is the first thing that the RPC handler sees, so what came before was dropped. */
    private void assertGoodReplyStillCounts() throws Exception {
        pair.reply(message(mirrored(0), Rpc.reply(call.xid()).writeInt(70).writeInt(0)));
        assertThat(pair.client.takeBytes()).hasSize(32);
        assertThat(pair.server.messages).isEmpty();
        assertThat(pair.clientConnection().callsInFlight()).isZero();
    }

    private void write(long offset, int handle, byte[] data) throws Exception {
        on(
                pair.serverChannel,
                () -> {
                    ByteBuf content =
                            pair.serverChannel.registeredBuffer(data.length).writeBytes(data);
                    return pair.serverChannel.write(new RdmaWrite(content, handle, offset));
                });
    }

    @Test
    @Proves({"V1-HDR-04", "V1-HDR-05", "V1-READ-20", "V1-WRITE-22", "V1-REPLY-02"})
    void shortCallOnTheWire() throws Exception {
        send(Rpc.call(0xCAFE0001, Rpc.NFS, 3, 0));
        assertThat(ByteBufUtil.hexDump(received))
                .isEqualTo(
                        ("CAFE0001 00000001 00000080 00000000 00000000 00000000 00000000 CAFE0001"
                             + " 00000000 00000002000186A3 00000003 00000000 00000000 00000000"
                             + " 00000000 00000000")
                                .replace(" ", "")
                                .toLowerCase(java.util.Locale.ROOT));
    }

    @Test
    @Proves({"V1-READ-03", "V1-READ-09", "V1-CHUNK-08"})
    void reducedWriteLooksLikeTheKernels() throws Exception {
        send(Rpc.write3(7, Rpc.random(5003)));
        assertThat(call.reads().segments()).isEqualTo(1);
        // 40 bytes of header, a file handle of 4 + 28, offset, count, stable and the count of
        // the data.
        assertThat(call.reads().position(0)).isEqualTo(92);
        assertThat(call.reads().length(0)).isEqualTo(5003);
        assertThat(received.writerIndex() - callPayload).isEqualTo(92);
        assertThat(received.getInt(received.writerIndex() - 4)).isEqualTo(5003);
    }

    @Test
    @Proves({"V1-WRITE-10", "V1-WRITE-02"})
    void readOffersExactlyItsCount() throws Exception {
        send(Rpc.read3(7, 5001));
        assertThat(call.writes().chunks()).isEqualTo(1);
        assertThat(call.writes().segments()).isEqualTo(1);
        assertThat(call.writes().chunkLength(0)).isEqualTo(5001);
        assertThat(call.reply().isPresent()).isFalse();
    }

    @Test
    @Proves({"V1-REPLY-01", "V1-WRITE-20"})
    void readlinkAndReaddirOfferAReplyChunk() throws Exception {
        send(Rpc.opaque(Rpc.call(7, Rpc.NFS, 3, 5), Rpc.random(28)));
        assertThat(call.writes().chunks()).isZero();
        assertThat(call.reply().chunkLength()).isGreaterThan(4096);
        assertGoodReplyStillCounts();
        send(Rpc.readdir3(8, 65536));
        assertThat(call.writes().chunks()).isZero();
        assertThat(call.reply().segments()).isEqualTo(1);
        assertThat(call.reply().chunkLength()).isBetween(65536L + 24, 65536L + 1000);
    }

    @Test
    @Proves({
        "V1-ERR-04",
        "V1-HDR-10",
        "V1-READ-19",
        "V1-WRITE-25",
        "V1-REPLY-12",
        "V1-REPLY-13",
        "V1-HDR-03",
        "V1-HDR-14",
        "V1-OBS-03",
        "V1-OBS-05",
        "BIDI-05"
    })
    void repliesWithABadHeaderAreDropped() throws Exception {
        send(Rpc.read3(5, 8192));
        drops(0, h -> h.reads().add(0, 1, 100, 0));
        drops(1, h -> h.reads().add(0, 1, 100, 0));
        drops(0, h -> h.writes().clear());
        drops(0, h -> h.writes().length(0, 8193));
        drops(0, h -> h.writes().endChunk());
        drops(0, h -> h.reply().setPresent());
        drops(1, h -> h.reply().setPresent());
        drops(1, h -> {});
        drops(2, h -> {});
        drops(3, h -> {});
        drops(7, h -> {});
        pair.reply(message(mirrored(0), Rpc.reply(6))); // payload of another call
        pair.reply(message(mirrored(0), Unpooled.buffer().writeInt(5))); // no message type
        pair.reply(message(mirrored(0), Unpooled.buffer().writeInt(5).writeInt(9)));
        pair.reply(message(mirrored(0), Rpc.echo(5, 0))); // a call at a requester
        pair.reply(message(new TransportHeader().set(77, 16, 0), Rpc.reply(77))); // no such call
        ByteBuf version = message(mirrored(0), Rpc.reply(5));
        pair.reply(version.setInt(4, 2));
        ByteBuf marker = message(mirrored(0), Rpc.reply(5));
        pair.reply(marker.setInt(16, 2));
        ByteBuf whole = message(mirrored(0), none());
        for (int length = 1; length < whole.readableBytes(); length++) {
            pair.reply(whole.copy(0, length));
        }
        assertGoodReplyStillCounts();
        assertThat(pair.clientConnection().creditsGranted()).isEqualTo(16);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isEqualTo(1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_VERSION)).isEqualTo(1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNEXPECTED_CALL))
                .isEqualTo(2);
    }

    private void drops(int proc, Consumer<TransportHeader> change) {
        TransportHeader header = mirrored(proc);
        change.accept(header);
        pair.reply(message(header, proc == 1 ? none() : Rpc.reply(call.xid())));
    }

    @Test
    @Proves({"V1-REPLY-12", "V1-REPLY-13", "V1-HDR-15"})
    void longRepliesWithABadLength() throws Exception {
        send(Rpc.echo(5, 8));
        long offered = call.reply().chunkLength();
        for (long length : new long[] {0, 19, offered + 1, 0xFFFFFFFFL}) {
            drops(1, h -> h.reply().length(0, length));
        }
        drops(0, h -> h.reply().length(0, 24));
        drops(
                1,
                h -> {
                    h.reply().clear();
                    h.reply().setPresent();
                    h.reply().add(call.reply().handle(0) + 1, 24, call.reply().offset(0));
                });
        byte[] reply = ByteBufUtil.getBytes(Rpc.reply(5).writeInt(3));
        write(call.reply().offset(0), call.reply().handle(0), reply);
        TransportHeader header = mirrored(1);
        header.reply().length(0, reply.length);
        pair.reply(
                message(
                        header,
                        Unpooled.buffer().writeLong(1))); // bytes after the lists are ignored
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
    }

    @Test
    @Proves("V1-REPLY-13")
    void replyChunkMayBeLeftOutOfAnInlineReply() throws Exception {
        send(Rpc.echo(5, 8));
        pair.reply(message(new TransportHeader().set(5, 16, 0), Rpc.reply(5)));
        assertThat(pair.client.takeBytes()).hasSize(24);
    }

    @Test
    @Proves({
        "V1-ERR-02",
        "V1-ERR-11",
        "V1-ERR-12",
        "V1-ERR-13",
        "V1-ERR-15",
        "V1-ERR-16",
        "OLD-20",
        "OLD-21",
        "V1-MR-10"
    })
    void errors() throws Exception {
        send(Rpc.read3(5, 8192));
        int handle = call.writes().handle(0);
        pair.reply(error(5, 1, 3)); // unknown code
        pair.reply(error(5, 1, 3).writeZero(32)); // unknown code of an older protocol
        pair.reply(error(5, 1, 1)); // ERR_VERS without its range
        pair.reply(error(5, 1, 1).writeInt(3).writeInt(2)); // empty range
        pair.reply(error(6, 1, 2)); // no such call
        pair.reply(error(5, 7, 2)); // any version counts
        assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
        assertThat((boolean) on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle)))
                .isFalse();
        assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_ERROR)).isEqualTo(4);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isOne();
        assertThat(pair.client.errors).isEmpty();

        send(Rpc.echo(6, 8));
        pair.reply(error(6, 1, 1).writeInt(2).writeInt(3));
        ErrVersReplyException failure = (ErrVersReplyException) pair.client.takeFailure();
        assertThat(failure.lowest()).isEqualTo(2);
        assertThat(failure.highest()).isEqualTo(3);
        assertThat(pair.client.awaitInactive()).isTrue();
    }

    /** What waits for a credit is not sent in a version that the responder has just refused. */
    @Test
    @Proves("V1-ERR-16")
    void withoutACommonVersionNothingMoreIsSent() throws Exception {
        send(Rpc.echo(1, 8));
        ChannelFuture waiting = pair.call(Rpc.echo(2, 8));
        pair.reply(error(1, 1, 1).writeInt(2).writeInt(3));
        assertThat(pair.client.takeFailure()).isInstanceOf(ErrVersReplyException.class);
        assertThatThrownBy(waiting::sync).isInstanceOf(CallNotSentException.class);
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(pair.server.awaitInactive()).isTrue();
        assertThat(pair.server.messages).isEmpty();
    }

    /** Of no call, of one that waits for a credit, of one that is answered: nothing comes of it, here or there. */
    @Test
    @Proves({"V1-ERR-13", "V1-ERR-15"})
    void anErrorWithoutACallIsDropped() throws Exception {
        send(Rpc.echo(1, 8));
        pair.reply(message(new TransportHeader().set(1, 2, 0), Rpc.reply(1)));
        assertThat(pair.client.takeXid()).isEqualTo(1);
        send(Rpc.echo(2, 8));
        send(Rpc.echo(3, 8));
        pair.call(Rpc.echo(4, 8)); // waits for one of the two credits
        for (int xid : new int[] {0x7777, 4, 1}) {
            pair.reply(error(xid, 1, 1).writeInt(1).writeInt(1));
            pair.reply(error(xid, 1, 2).setInt(8, 1));
            pair.reply(error(xid, 1, 2).setInt(8, 77));
        }
        await().until(() -> pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID) == 9);
        assertThat(pair.clientConnection().creditsGranted()).isEqualTo(2);
        assertThat(pair.clientConnection().callsInFlight()).isEqualTo(2);
        pair.reply(message(new TransportHeader().set(2, 2, 0), Rpc.reply(2)));
        assertThat(pair.client.takeXid()).isEqualTo(2);
        // Not the errors but this reply has let it go, alone, and nothing was sent before it.
        ByteBuf sent = pair.server.takeBuffer();
        assertThat(Rpc.xid(sent)).isEqualTo(4);
        sent.release();
        pair.reply(message(new TransportHeader().set(3, 2, 0), Rpc.reply(3)));
        pair.reply(message(new TransportHeader().set(4, 2, 0), Rpc.reply(4)));
        assertThat(pair.client.takeXid()).isEqualTo(3);
        assertThat(pair.client.takeXid()).isEqualTo(4);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isEqualTo(9);
        assertThat(pair.client.errors).isEmpty();
        assertThat(pair.client.messages).isEmpty();
        assertThat(pair.server.messages).isEmpty();
    }

    private static ByteBuf error(int xid, int version, int code) {
        return Unpooled.buffer()
                .writeInt(xid)
                .writeInt(version)
                .writeInt(8)
                .writeInt(4)
                .writeInt(code);
    }

    private void replyRead(byte[] data, long returned) throws Exception {
        write(call.writes().offset(0), call.writes().handle(0), data);
        TransportHeader header = mirrored(0);
        header.writes().length(0, returned);
        ByteBuf reply = Rpc.read3Reply(call.xid(), data);
        int pad = -data.length & 3;
        pair.reply(message(header, reply.writerIndex(reply.writerIndex() - data.length - pad)));
    }

    @Test
    @Proves({"OLD-16", "V1-WRITE-26", "V1-WRITE-11"})
    void returnedLengthMayIncludeTheRoundUp() throws Exception {
        byte[] data = Rpc.random(5001);
        for (int returned : new int[] {5001, 5004}) {
            send(Rpc.read3(returned, 8192));
            replyRead(data, returned);
            assertThat(pair.client.takeBytes())
                    .isEqualTo(ByteBufUtil.getBytes(Rpc.read3Reply(returned, data)));
        }
        assertThat(pair.clientConnection().value(RpcRdmaCounter.ROUND_UPS_PLACED)).isOne();
    }

    /** NFS-Ganesha adds the length modulo 4. */
    @ParameterizedTest
    @CsvSource({"1, 2", "2, 4", "3, 6", "4, 4", "70002, 70004", "70003, 70006", "70003, 70003"})
    @Proves("V1-WRITE-27")
    void returnedLengthMayBeUpToThreeBytesTooMany(int length, int returned) throws Exception {
        byte[] data = Rpc.random(length);
        send(Rpc.read3(7, 80_000));
        replyRead(data, returned);
        assertThat(pair.client.takeBytes())
                .isEqualTo(ByteBufUtil.getBytes(Rpc.read3Reply(7, data)));
        assertThat(pair.clientConnection().value(RpcRdmaCounter.ROUND_UPS_PLACED))
                .isEqualTo(returned == length ? 0 : 1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.BAD_REPLIES)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {5000, 5005, 8192, 1})
    @Proves({"V1-WRITE-26", "V1-WRITE-27", "API-13"})
    void countAndChunkLengthDiffer(int returned) throws Exception {
        send(Rpc.read3(5, 8192));
        replyRead(Rpc.random(5001), returned);
        assertThat(pair.client.takeFailure()).isInstanceOf(MalformedReplyException.class);
        assertThat(pair.clientConnection().callsInFlight()).isZero();
    }

    @Test
    @Proves({"V1-CHUNK-15", "V1-CHUNK-16"})
    void responderThatBreaksTheBinding() throws Exception {
        send(Rpc.read3(5, 8192));
        pair.reply(message(mirrored(0), Rpc.read3Reply(5, Rpc.random(100))));
        assertThat(pair.client.takeFailure())
                .isInstanceOf(DdpEligibilityException.class)
                .hasMessageContaining("inline");

        send(Rpc.read3(6, 8192));
        TransportHeader header = mirrored(0);
        header.writes().length(0, 100);
        pair.reply(message(header, Rpc.reply(6).writeInt(70).writeInt(0)));
        assertThat(pair.client.takeFailure())
                .isInstanceOf(DdpEligibilityException.class)
                .hasMessageContaining("not eligible");
    }

    @Test
    @Proves({"V1-MR-01", "V1-MR-03", "SEC-04", "SEC-05"})
    void memoryIsFencedWhenTheReplyIsSeen() throws Exception {
        send(Rpc.read3(5, 8192));
        int handle = call.writes().handle(0);
        assertThat((boolean) on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle)))
                .isTrue();
        replyRead(Rpc.random(8192), 8192); // a plain Send: nobody has invalidated it for us
        ByteBuf reply = pair.client.takeBuffer();
        assertThat((boolean) on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle)))
                .isFalse();
        assertThat(pair.clientConnection().value(RpcRdmaCounter.LOCAL_INVALIDATIONS)).isEqualTo(1);
        byte[] before = Rpc.bytes(reply.retain());
        write(
                call.writes().offset(0),
                handle,
                Rpc.random(100)); // late: costs the connection, not the memory
        pair.serverChannel.flush();
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(Rpc.bytes(reply)).isEqualTo(before);
    }

    @NeedsDevice("remoteInvalidation")
    @Test
    @Proves("V1-MR-01")
    void sendWithInvalidateSparesUsTheInvalidation() throws Exception {
        send(Rpc.write3(5, Rpc.random(9000)));
        ByteBuf reply = message(mirrored(0), Rpc.reply(5).writeZero(136));
        int handle = call.reads().handle(0);
        on(
                pair.serverChannel,
                () -> {
                    ByteBuf send = pair.serverChannel.registeredBuffer(500).writeBytes(reply);
                    return pair.reply(new RdmaSendWithInvalidate(send, handle));
                });
        reply.release();
        assertThat(pair.client.takeBytes()).hasSize(24 + 136);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS)).isEqualTo(1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.LOCAL_INVALIDATIONS)).isZero();
    }

    @Test
    @Proves({"V1-CRED-04", "V1-CRED-17", "OLD-01"})
    void grantOfZeroIsOne() throws Exception {
        send(Rpc.echo(5, 8));
        pair.reply(message(new TransportHeader().set(5, 0, 0), Rpc.reply(5)));
        pair.client.takeBytes();
        assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);
        assertThat(pair.clientConnection().value(RpcRdmaCounter.ZERO_GRANTS)).isEqualTo(1);
        send(Rpc.echo(6, 8));
        pair.reply(message(new TransportHeader().set(6, 4, 0), Rpc.reply(6)));
        pair.client.takeBytes();
        assertThat(pair.clientConnection().creditsGranted()).isEqualTo(4);
    }
}
