// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannel;

/** Messages with room in front: the transport header goes there, and nobody else's bytes change. */
class MessageBufferTest {

    /** A Send is the message's own memory, or a copy of it. */
    private enum Way {
        IN_PLACE,
        COPIED
    }

    /** Addresses at which Sends end: a header is of any length. */
    private static final class SendEnds extends ChannelOutboundHandlerAdapter {

        private final List<Long> ends = new ArrayList<>();

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ByteBuf send =
                    message instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) message;
            ends.add(send.memoryAddress() + send.writerIndex());
            ctx.write(message, promise);
        }
    }

    private static RpcRdmaConfig config() {
        return RpcPair.usual().build();
    }

    /** Copies a message into one with room. */
    private static ByteBuf withRoom(RpcRdmaConnection connection, ByteBuf message) {
        ByteBuf buffer = connection.messageBuffer(message.readableBytes()).writeBytes(message);
        message.release();
        return buffer;
    }

    /** Writes a call that begins in a buffer with room; the message is what is expected to arrive. */
    private static void callArrives(
            RpcPair pair, Way way, ByteBuf call, UnaryOperator<ByteBuf> change) throws Exception {
        byte[] bytes = Rpc.bytes(call.retainedDuplicate());
        SendEnds sends = new SendEnds();
        on(
                pair.clientChannel,
                () -> {
                    pair.clientChannel.pipeline().addFirst(sends);
                    ByteBuf written = change.apply(withRoom(pair.clientConnection(), call));
                    long end = written.memoryAddress() + written.writerIndex();
                    pair.clientChannel.writeAndFlush(written);
                    assertThat(sends.ends).hasSize(1);
                    assertThat(sends.ends.get(0) == end).isEqualTo(way == Way.IN_PLACE);
                    return pair.clientChannel.pipeline().remove(sends);
                });
        assertThat(pair.server.takeBytes()).isEqualTo(bytes);
    }

    @Test
    void callAndReplyAreSentFromTheirOwnMemory() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            callArrives(pair, Way.IN_PLACE, Rpc.echo(1, 100), call -> call);
            SendEnds sends = new SendEnds();
            long end =
                    on(
                            pair.serverChannel,
                            () -> {
                                pair.serverChannel.pipeline().addFirst(sends);
                                ByteBuf reply = withRoom(pair.serverConnection(), Rpc.reply(1));
                                long last = reply.memoryAddress() + reply.writerIndex();
                                pair.serverChannel.writeAndFlush(reply);
                                return last;
                            });
            assertThat(pair.client.takeBytes()).isEqualTo(Rpc.bytes(Rpc.reply(1)));
            assertThat(on(pair.serverChannel, () -> sends.ends)).containsExactly(end);
        }
    }

    /** The Send of a READ whose result has a Write chunk: it is not plain, but its payload is. */
    @Test
    void aCallWithAWriteChunkIsSentFromItsOwnMemory() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            callArrives(pair, Way.IN_PLACE, Rpc.read3(3, 5000), call -> call);
        }
    }

    @Test
    void argumentsOfAReadChunkAreLeftOutByACopy() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            callArrives(pair, Way.COPIED, Rpc.write3(3, Rpc.random(5000)), call -> call);
        }
    }

    /** A client that repeats calls keeps them. */
    @Test
    void aMessageThatSomebodyKeepsIsCopiedAndStaysAsItWas() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            List<ByteBuf> kept = new ArrayList<>();
            callArrives(
                    pair,
                    Way.COPIED,
                    Rpc.echo(1, 100),
                    call -> {
                        call.setZero(0, call.readerIndex());
                        kept.add(call.retain());
                        return call;
                    });
            ByteBuf call = kept.get(0);
            assertThat(call.refCnt()).isOne();
            assertThat(Rpc.bytes(call.copy())).isEqualTo(Rpc.bytes(Rpc.echo(1, 100)));
            for (int i = 0; i < call.readerIndex(); i++) {
                assertThat(call.getByte(i)).isZero();
            }
            call.release();
        }
    }

    @Test
    void aViewIsCopied() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            callArrives(pair, Way.COPIED, Rpc.echo(1, 100), ByteBuf::duplicate);
        }
    }

    @Test
    void aMessageThatHasGivenUpItsRoomIsCopied() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            callArrives(pair, Way.COPIED, Rpc.echo(1, 100), ByteBuf::discardReadBytes);
        }
    }

    @Test
    void aMessageInMemoryOfAnotherEventLoopIsCopied() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            ByteBuf call =
                    on(
                            pair.serverChannel,
                            () -> withRoom(pair.serverConnection(), Rpc.echo(1, 100)));
            pair.call(call).sync();
            assertThat(pair.server.takeBytes()).isEqualTo(Rpc.bytes(Rpc.echo(1, 100)));
        }
    }

    /** A handler that hands a message on gives it away, with the header that it was received with. */
    @Test
    void aReceivedMessageMayBeSentOn() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            pair.call(Rpc.echo(1, 100));
            ByteBuf call = pair.server.takeBuffer();
            call.setInt(call.readerIndex() + 4, 1); // a reply with the call's other words
            byte[] bytes = Rpc.bytes(call.retainedDuplicate());
            pair.reply(call).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(bytes);
        }
    }

    @Test
    void aMessageOfAClosedConnectionIsReleased() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            RdmaChannel channel = pair.clientChannel;
            ByteBuf call = on(channel, () -> withRoom(pair.clientConnection(), Rpc.echo(1, 100)));
            on(channel, channel::close);
            assertThat(channel.writeAndFlush(call).await().cause()).isNotNull();
            assertThat(call.refCnt()).isZero();
        }
    }

    @Test
    void anotherThreadAndLengthsThatAreNoneAreRefused() throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            assertThatThrownBy(() -> pair.clientConnection().messageBuffer(100))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("sendBuffer");
            for (int length : new int[] {Integer.MIN_VALUE, -100, Integer.MAX_VALUE}) {
                assertThatThrownBy(
                                () ->
                                        on(
                                                pair.clientChannel,
                                                () ->
                                                        pair.clientConnection()
                                                                .messageBuffer(length)))
                        .hasCauseInstanceOf(RuntimeException.class);
            }
        }
    }
}
