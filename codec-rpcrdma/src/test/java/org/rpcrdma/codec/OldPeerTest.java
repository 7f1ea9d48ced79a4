// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A peer that keeps to RFC 5666, in either role, does what RFC 8166 has abolished or forbidden since. What is not
 * understood any more gets the error that RFC 8166 names, and nothing else suffers.
 */
class OldPeerTest {

    private static final int FIRST = 1001;
    private static final int SECOND = 2002;
    private static final int CONF_RDMA = 100417;

    private static RpcRdmaConfig.Builder builder() {
        return RpcRdmaConfig.builder()
                .grantedCredits(4)
                .bindings(BindingRegistry.standard().with(new ItemsBinding()));
    }

    private static ByteBuf hex(String words) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(words.replace(" ", "")));
    }

    private static byte[] errChunk(int xid) {
        return ByteBufUtil.getBytes(
                Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(4).writeInt(4).writeInt(2));
    }

    // ------------------------------------------------------------------ the requester is old

    /** One connection of an old requester: everything that it may do, one after the other. */
    @Test
    @Proves({
        "OLD-13", "OLD-14", "OLD-15", "OLD-17", "OLD-18", "OLD-19", "OLD-22", "OLD-23", "OLD-05",
        "OLD-06"
    })
    void aConnectionOfAnOldRequester() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(builder().build(), builder().build());
                RawPeer old = RawPeer.client(pair)) {
            paddingOfItsOwn(pair, old, 1);
            noPaddingAtAll(pair, old, 2);
            positionZeroFirstAndMoreBehind(pair, old, 3);

            // RDMA_MSGP: the XID is where it always is, and nothing else is looked at.
            old.send(
                    hex(
                            "CAFE0006 00000001 00000020 00000002 00001000 00000400"
                                    + " 00000000 00000000 00000000"));
            assertThat(pair.client.takeBytes()).isEqualTo(errChunk(0xCAFE0006));
            // RDMA_DONE and RDMA_ERROR, with nothing behind them.
            old.send(hex("CAFE0005 00000001 00000020 00000003"));
            old.send(hex("CAFE0005 00000001 00000020 00000003 00000000 00000000 00000000"));
            old.send(hex("CAFE0003 00000001 00000020 00000004 00000002"));
            chunkThatIsTooShort(pair, old, 5);
            chunkOfWhatIsNotEligible(pair, old, 6);

            old.send(RawPeer.header(7, 0), Rpc.echo(7, 8));
            assertThat(pair.server.takeXid()).isEqualTo(7);
            pair.reply(Rpc.reply(7));
            assertThat(pair.client.takeBytes()).hasSize(28 + 24);
            assertThat(pair.server.messages).isEmpty();
            assertThat(pair.client.messages).isEmpty();
        }
    }

    private static byte[] wholeCall(int xid) {
        return Rpc.bytes(ItemsBinding.call(xid, 0, 8, FIRST, SECOND));
    }

    private static int firstPosition() {
        return 40 + 4 + 4;
    }

    private static int secondPosition() {
        return firstPosition() + ((FIRST + 3) & ~3) + 4;
    }

    /** What stays in the stream when the two items are chunks. */
    private static ByteBuf reduced(byte[] whole) {
        int afterSecond = secondPosition() + ((SECOND + 3) & ~3);
        return Unpooled.buffer()
                .writeBytes(whole, 0, firstPosition())
                .writeBytes(whole, secondPosition() - 4, 4)
                .writeBytes(whole, afterSecond, whole.length - afterSecond);
    }

    private static void addItem(
            RawPeer old, TransportHeader header, byte[] whole, int position, int length)
            throws Exception {
        ByteBuf data = old.memory(Arrays.copyOfRange(whole, position, position + length));
        int handle = old.expose(data, RemoteAccess.READ);
        header.reads().add(position, handle, length, old.offset(handle));
    }

    /** The round-up has a segment of its own, or is in the last one; and its bytes have any value. */
    private static void paddingOfItsOwn(RpcPair pair, RawPeer old, int xid) throws Exception {
        byte[] whole = wholeCall(xid);
        TransportHeader header = RawPeer.header(xid, 0);
        addItem(old, header, whole, firstPosition(), FIRST);
        ByteBuf pad = old.memory(new byte[] {-1, -1, -1});
        int handle = old.expose(pad, RemoteAccess.READ);
        header.reads().add(firstPosition(), handle, 3, old.offset(handle));
        byte[] second = Arrays.copyOfRange(whole, secondPosition(), secondPosition() + SECOND + 2);
        second[SECOND] = 0x77;
        handle = old.expose(old.memory(second), RemoteAccess.READ);
        header.reads().add(secondPosition(), handle, SECOND + 2, old.offset(handle));
        old.send(header, reduced(whole));
        byte[] received = pair.server.takeBytes();
        assertThat(received).hasSameSizeAs(whole);
        for (int i = 0; i < whole.length; i++) {
            int fromFirst = i - firstPosition();
            int fromSecond = i - secondPosition();
            boolean isPad =
                    (fromFirst >= FIRST && fromFirst < FIRST + 3)
                            || (fromSecond >= SECOND && fromSecond < SECOND + 2);
            assertThat(isPad || received[i] == whole[i]).as("byte " + i).isTrue();
        }
        answer(pair, xid);
    }

    /** The next position is the round-up away: that it is there has to be concluded. */
    private static void noPaddingAtAll(RpcPair pair, RawPeer old, int xid) throws Exception {
        byte[] whole = wholeCall(xid);
        TransportHeader header = RawPeer.header(xid, 0);
        addItem(old, header, whole, firstPosition(), FIRST);
        addItem(old, header, whole, secondPosition(), SECOND);
        old.send(header, reduced(whole));
        assertThat(pair.server.takeBytes()).isEqualTo(whole);
        answer(pair, xid);
    }

    private static void positionZeroFirstAndMoreBehind(RpcPair pair, RawPeer old, int xid)
            throws Exception {
        byte[] whole = wholeCall(xid);
        TransportHeader header = RawPeer.header(xid, TransportHeader.RDMA_NOMSG);
        byte[] stream = Rpc.bytes(reduced(whole));
        addItem(old, header, stream, 0, stream.length);
        addItem(old, header, whole, firstPosition(), FIRST);
        addItem(old, header, whole, secondPosition(), SECOND);
        old.send(header, RawPeer.nothing());
        assertThat(pair.server.takeBytes()).isEqualTo(whole);
        answer(pair, xid);
    }

    /** The count in the stream and the chunk differ: that is for RPC to say. */
    private static void chunkThatIsTooShort(RpcPair pair, RawPeer old, int xid) throws Exception {
        byte[] whole = wholeCall(xid);
        TransportHeader header = RawPeer.header(xid, 0);
        addItem(old, header, whole, firstPosition(), FIRST - 5);
        addItem(old, header, whole, secondPosition(), SECOND);
        old.send(header, reduced(whole));
        byte[] reply = pair.client.takeBytes();
        assertThat(reply).hasSize(28 + 24);
        assertThat(reply[51]).isEqualTo((byte) OncRpcHeaderDecoder.GARBAGE_ARGS);
    }

    /** Any object could be a chunk once. */
    private static void chunkOfWhatIsNotEligible(RpcPair pair, RawPeer old, int xid)
            throws Exception {
        byte[] whole = Rpc.bytes(Rpc.echo(xid, 100));
        TransportHeader header = RawPeer.header(xid, 0);
        addItem(old, header, whole, 40, 100);
        old.send(header, Unpooled.copiedBuffer(whole, 0, 40));
        assertThat(pair.client.takeBytes()).isEqualTo(errChunk(xid));
    }

    private static void answer(RpcPair pair, int xid) throws Exception {
        pair.reply(Rpc.reply(xid));
        assertThat(pair.client.takeBytes()).hasSize(28 + 24);
    }

    @Test
    @Proves("OLD-02")
    void callsBeyondTheGrantEndTheirConnection() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(builder().build(), builder().build());
                RawPeer old = RawPeer.client(pair)) {
            for (int xid = 1; xid <= 4; xid++) {
                old.send(RawPeer.header(xid, 0), Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            old.send(RawPeer.header(5, 0), Rpc.echo(5, 8));
            assertThat(pair.client.awaitInactive()).isTrue();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isOne();
        }
    }

    @Test
    @Proves({"OLD-01", "OLD-03"})
    void aPolicyThatGrantsNothingGrantsOne() throws Exception {
        RpcRdmaConfig mean = builder().creditPolicy(load -> 0).build();
        try (RpcPair pair = RpcPair.rawClient(builder().build(), mean);
                RawPeer old = RawPeer.client(pair)) {
            for (int xid = 1; xid <= 3; xid++) {
                old.send(RawPeer.header(xid, 0), Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                pair.reply(Rpc.reply(xid));
                old.take();
                assertThat(old.header.credit()).isEqualTo(1);
            }
        }
    }

    /** The Connection Configuration Protocol is a program like any other that is not served here. */
    @Test
    @Proves({"OLD-25", "OLD-34", "SEC-23"})
    void theConnectionConfigurationProtocolChangesNothing() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(builder().build(), builder().build());
                RawPeer old = RawPeer.client(pair)) {
            ByteBuf call =
                    Rpc.call(1, CONF_RDMA, 1, 1).writeBytes(hex("00010000 00010000 00000010"));
            byte[] bytes = ByteBufUtil.getBytes(call);
            old.send(RawPeer.header(1, 0), call);
            assertThat(pair.server.takeBytes()).isEqualTo(bytes);
            int before = pair.serverConnection().sendThreshold();
            ByteBuf unavailable = Rpc.reply(1).setInt(20, 1); // PROG_UNAVAIL
            pair.reply(unavailable);
            old.take();
            assertThat(old.payload[23]).isEqualTo((byte) 1);
            assertThat(pair.serverConnection().sendThreshold()).isEqualTo(before);
        }
    }

    // ------------------------------------------------------------------ the responder is old

    @Test
    @Proves({"OLD-01", "OLD-04"})
    void aGrantOfNothingWhileCallsAreOut() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), builder().build());
                RawPeer old = RawPeer.server(pair)) {
            pair.call(Rpc.echo(1, 8));
            old.take();
            old.send(new TransportHeader().set(1, 3, 0), Rpc.reply(1));
            pair.client.takeXid();
            for (int xid = 2; xid <= 6; xid++) {
                pair.call(Rpc.echo(xid, 8));
            }
            for (int xid = 2; xid <= 4; xid++) {
                old.take();
                assertThat(old.header.xid()).isEqualTo(xid);
            }
            assertNothingMore(pair);
            // Two are still in progress there, so it grants nothing: one may be out, and two are.
            old.send(new TransportHeader().set(2, 0, 0), Rpc.reply(2));
            pair.client.takeXid();
            assertNothingMore(pair);
            old.send(new TransportHeader().set(3, 0, 0), Rpc.reply(3));
            pair.client.takeXid();
            assertNothingMore(pair);
            old.send(new TransportHeader().set(4, 0, 0), Rpc.reply(4));
            pair.client.takeXid();
            old.take();
            assertThat(old.header.xid()).isEqualTo(5);
            assertNothingMore(pair);
            old.send(new TransportHeader().set(5, 2, 0), Rpc.reply(5));
            pair.client.takeXid();
            old.take();
            assertThat(old.header.xid()).isEqualTo(6);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.ZERO_GRANTS)).isEqualTo(3);
        }
    }

    private static void assertNothingMore(RpcPair pair) throws Exception {
        RpcPair.settle(pair.clientChannel);
        RpcPair.settle(pair.serverChannel);
        assertThat(pair.server.messages).isEmpty();
    }

    /** The round-up is counted in, and the Reply chunk is not repeated. */
    @Test
    @Proves({"OLD-16", "OLD-36"})
    void writeLengthsWithTheRoundUp() throws Exception {
        int length = 8001;
        try (RpcPair pair = RpcPair.rawServer(builder().build(), builder().build());
                RawPeer old = RawPeer.server(pair)) {
            pair.call(Rpc.read3(1, 8004));
            old.take();
            byte[] whole = Rpc.bytes(Rpc.read3Reply(1, Rpc.random(length)));
            int data = whole.length - ((length + 3) & ~3);
            TransportHeader reply = old.mirrored(TransportHeader.RDMA_MSG);
            reply.reply().clear();
            old.write(
                    reply.writes().handle(0),
                    reply.writes().offset(0),
                    Arrays.copyOfRange(whole, data, data + length + 3));
            reply.writes().length(0, length + 3);
            old.send(reply, Unpooled.copiedBuffer(whole, 0, data));
            assertThat(pair.client.takeBytes()).isEqualTo(whole);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 99})
    @Proves({"OLD-21", "OLD-18"})
    void anErrorWithACodeOfItsOwn(int code) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), builder().build());
                RawPeer old = RawPeer.server(pair)) {
            pair.call(Rpc.echo(1, 8));
            old.take();
            ByteBuf error = Unpooled.buffer().writeInt(1).writeInt(1).writeInt(16).writeInt(4);
            old.send(error.writeInt(code).writeZero(32));
            old.send(RawPeer.header(1, 0), Rpc.reply(1));
            assertThat(pair.client.takeXid()).isEqualTo(1);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_ERROR)).isOne();
        }
    }

    /** ERR_VERS has any version word that is valid at the responder. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, -1})
    @Proves({"OLD-20", "OLD-37"})
    void errVersWithAnotherVersionWord(int version) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), builder().build());
                RawPeer old = RawPeer.server(pair)) {
            pair.call(Rpc.echo(1, 8));
            old.take();
            ByteBuf error = Unpooled.buffer().writeInt(1).writeInt(version).writeInt(1);
            old.send(error.writeInt(4).writeInt(1).writeInt(2).writeInt(3));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrVersReplyException.class);
        }
    }

    /** RDMA_MSGP and RDMA_DONE are nothing that a requester takes. */
    @Test
    @Proves({"OLD-17", "OLD-18"})
    void obsoleteProceduresAtTheRequester() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), builder().build());
                RawPeer old = RawPeer.server(pair)) {
            pair.call(Rpc.echo(1, 8));
            old.take();
            old.send(hex("00000001 00000001 00000020 00000003"));
            old.send(
                    Unpooled.buffer()
                            .writeBytes(
                                    hex("00000001 00000001 00000020 00000002 00001000 00000400"))
                            .writeZero(12)
                            .writeBytes(Rpc.bytes(Rpc.reply(1))));
            old.send(RawPeer.header(1, 0), Rpc.reply(1).writeInt(9));
            assertThat(pair.client.takeBytes()).hasSize(28);
            assertThat(pair.clientChannel.isActive()).isTrue();
        }
    }

    /** Position zero first: older responders look for it there (RFC 5666, 5.1). */
    @Test
    @Proves({"OLD-22", "OLD-14"})
    void aLongCallHasItsPositionZeroChunkFirst() throws Exception {
        RpcRdmaConfig config = builder().build();
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer old = RawPeer.server(pair)) {
            pair.call(ItemsBinding.callApart(1, 0, 5000, FIRST, SECOND));
            old.take();
            ReadList reads = old.header.reads();
            assertThat(old.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
            assertThat(reads.position(0)).isZero();
            // No segment is for round-up alone, nor counts it in.
            assertThat(reads.segments()).isEqualTo(3);
            assertThat(reads.length(1)).isEqualTo(FIRST);
            assertThat(reads.length(2)).isEqualTo(SECOND);
        }
    }
}
