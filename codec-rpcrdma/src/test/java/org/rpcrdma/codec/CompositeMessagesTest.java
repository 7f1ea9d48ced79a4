// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.WriteBufferWaterMark;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaWrite;

/**
 * Handlers put a message together from a header and data that they have: the data go to the device from where they are.
 */
class CompositeMessagesTest {

    private static final int LENGTH = 70_001;

    private final byte[] data = Rpc.random(LENGTH);

    private static ByteBuf direct(byte[] bytes, int from, int to) {
        return Unpooled.directBuffer(to - from).writeBytes(bytes, from, to - from);
    }

    /** What is before the data in a message, the data in so many pieces, and their pad. */
    private ByteBuf inPieces(ByteBuf whole, List<ByteBuf> pieces) {
        int position = whole.readableBytes() - (LENGTH + 3 & ~3);
        var parts = Unpooled.compositeBuffer(16);
        parts.addComponent(true, whole.readRetainedSlice(position));
        pieces.forEach(piece -> parts.addComponent(true, piece));
        parts.addComponent(true, Unpooled.directBuffer().writeZero(-LENGTH & 3));
        whole.release();
        return parts;
    }

    private List<ByteBuf> pieces(int count) {
        List<ByteBuf> pieces = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            pieces.add(direct(data, i * LENGTH / count, (i + 1) * LENGTH / count));
        }
        return pieces;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    @Proves("API-05")
    void resultsAreWrittenFromTheirOwnMemory(int count) throws Exception {
        List<ByteBuf> pieces = pieces(count);
        List<Long> addresses = pieces.stream().map(ByteBuf::memoryAddress).toList();
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            List<Long> written = new ArrayList<>();
            pair.serverChannel.pipeline().addFirst(new WriteAddresses(written));
            pair.call(Rpc.read3(7, LENGTH));
            pair.server.takeBytes();
            pair.reply(inPieces(Rpc.read3Reply(7, data), pieces)).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(Rpc.bytes(Rpc.read3Reply(7, data)));
            assertThat(on(pair.serverChannel, () -> List.copyOf(written))).isEqualTo(addresses);
        }
        assertThat(pieces).allMatch(piece -> piece.refCnt() == 0);
    }

    /** Answers one more call when the channel is full, which it is by a write of another reply. */
    private static final class Answering extends ChannelInboundHandlerAdapter {
        private ByteBuf reply;

        Answering(ByteBuf reply) {
            this.reply = reply;
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            if (!ctx.channel().isWritable() && reply != null) {
                ByteBuf taken = reply;
                reply = null;
                ctx.writeAndFlush(taken);
            }
            ctx.fireChannelWritabilityChanged();
        }
    }

    private static ByteBuf names(int xid, int length, int pieces) {
        byte[] names = Rpc.random(length);
        var parts = Unpooled.compositeBuffer(16).addComponent(true, Rpc.reply(xid).writeInt(0));
        for (int i = 0; i < pieces; i++) {
            parts.addComponent(true, direct(names, i * length / pieces, (i + 1) * length / pieces));
        }
        return parts;
    }

    /** Each reply has its own data and lengths (RFC 8166, 3.4.6), in Write chunks and in the Reply chunk. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"V1-WRITE-09", "V1-REPLY-07"})
    void aReplyIsWrittenInsideOfTheWriteOfAnother(boolean isLong) throws Exception {
        RpcRdmaConfig config = RpcPair.usual().announceReadChunkReplies(false).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.call(Rpc.echo(1, 8)); // brings credits
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            for (int xid = 7; xid <= 8; xid++) {
                pair.call(isLong ? Rpc.readdir3(xid, 60_000) : Rpc.read3(xid, LENGTH));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            ByteBuf outer =
                    isLong ? names(7, 50_000, 4) : inPieces(Rpc.read3Reply(7, data), pieces(4));
            ByteBuf inner =
                    isLong ? names(8, 40_000, 3) : inPieces(Rpc.read3Reply(8, data), pieces(1));
            List<byte[]> replies =
                    List.of(ByteBufUtil.getBytes(inner), ByteBufUtil.getBytes(outer));
            on(
                    pair.serverChannel,
                    () -> {
                        pair.serverChannel
                                .config()
                                .setWriteBufferWaterMark(new WriteBufferWaterMark(0, 1));
                        pair.serverChannel.pipeline().addLast(new Answering(inner));
                        return pair.reply(outer);
                    });
            for (byte[] reply : replies) {
                assertThat(pair.client.takeBytes()).isEqualTo(reply);
            }
        }
    }

    @Test
    @Proves("API-05")
    void argumentsAreExposedWhereTheyAre() throws Exception {
        callOf(1, 0);
    }

    /** One handle for each item is better than no copy: with it the peer can invalidate (RFC 8166, 4.4.1). */
    @Test
    void argumentsInSeveralPiecesAreCopiedIntoOne() throws Exception {
        callOf(2, LENGTH);
    }

    private void callOf(int count, long copied) throws Exception {
        List<ByteBuf> pieces = pieces(count);
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            pair.call(inPieces(Rpc.write3(9, data), pieces)).sync();
            assertThat(pair.server.takeBytes()).isEqualTo(Rpc.bytes(Rpc.write3(9, data)));
            pair.reply(Rpc.reply(9)).sync();
            pair.client.takeBytes();
            assertThat(
                            on(
                                    pair.clientChannel,
                                    () ->
                                            pair.clientConnection()
                                                    .value(RpcRdmaCounter.COPIED_BYTES)))
                    .isEqualTo(copied);
        }
        assertThat(pieces).allMatch(piece -> piece.refCnt() == 0);
    }

    @Test
    void aRecordOfSeveralBuffersKeepsThem() throws Exception {
        List<ByteBuf> pieces = pieces(2);
        List<Long> addresses = pieces.stream().map(ByteBuf::memoryAddress).toList();
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            List<Long> written = new ArrayList<>();
            pair.serverChannel.pipeline().addFirst(new WriteAddresses(written));
            on(
                    pair.serverChannel,
                    () -> pair.serverChannel.pipeline().addLast(new RecordMarkingAdapter(1 << 20)));
            pair.call(Rpc.read3(7, LENGTH));
            pair.server.takeBytes();
            ByteBuf reply = inPieces(Rpc.read3Reply(7, data), pieces);
            ByteBuf mark = Unpooled.directBuffer().writeInt(reply.readableBytes() | 1 << 31);
            pair.reply(
                            Unpooled.compositeBuffer(2)
                                    .addComponent(true, mark)
                                    .addComponent(true, reply))
                    .sync();
            byte[] got = pair.client.takeBytes();
            byte[] expected = Rpc.bytes(Rpc.read3Reply(7, data));
            assertThat(Arrays.equals(got, expected)).isTrue();
            assertThat(on(pair.serverChannel, () -> List.copyOf(written))).isEqualTo(addresses);
        }
        assertThat(pieces).allMatch(piece -> piece.refCnt() == 0);
    }

    private static final class WriteAddresses extends ChannelOutboundHandlerAdapter {

        private final List<Long> addresses;

        WriteAddresses(List<Long> addresses) {
            this.addresses = addresses;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (message instanceof RdmaWrite write) {
                ByteBuf content = write.content();
                addresses.add(
                        content.hasMemoryAddress()
                                ? content.memoryAddress() + content.readerIndex()
                                : -1L);
            }
            ctx.write(message, promise);
        }
    }
}
