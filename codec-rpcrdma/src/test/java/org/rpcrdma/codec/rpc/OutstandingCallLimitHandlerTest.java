// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client over a byte stream that calls and reads no replies has a bound. */
class OutstandingCallLimitHandlerTest {

    private static final int LIMIT = 4;
    private static final int LAST_FRAGMENT = 0x80000000;

    private final Queue<ChannelPromise> untaken = new ArrayDeque<>();
    private final List<RpcServerCall> served = new ArrayList<>();
    private final RpcProgram program =
            RpcProgram.builder(7)
                    .procedure(1, 1, served::add)
                    .procedure(
                            1,
                            2,
                            call -> {
                                served.add(call);
                                call.reply();
                            })
                    .build();
    private final EmbeddedChannel channel =
            new EmbeddedChannel(
                    new FullSocket(),
                    new RecordMarkingHandler(),
                    new OutstandingCallLimitHandler(LIMIT),
                    new RpcServerHandler(program));

    /** Whether the channel will read from its socket. */
    private boolean isReading;

    /** Replies go into a socket that nobody reads from. */
    private final class FullSocket extends ChannelDuplexHandler {
        @Override
        public void read(ChannelHandlerContext ctx) {
            isReading = true;
            ctx.read();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            isReading = false;
            ctx.fireChannelRead(message);
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ReferenceCountUtil.release(message);
            untaken.add(promise);
        }
    }

    private static ByteBuf calls(int count, int procedure) {
        ByteBuf records = Unpooled.buffer();
        for (int xid = 0; xid < count; xid++) {
            records.writeInt(40 | LAST_FRAGMENT);
            new CallHeader(xid, 7, 1, procedure, OpaqueAuth.NONE, OpaqueAuth.NONE).writeTo(records);
        }
        return records;
    }

    /** Each reply is two writes, the mark and the message. */
    private void takeReply() {
        untaken.remove().setSuccess();
        untaken.remove().setSuccess();
        channel.runPendingTasks();
    }

    @Test
    void callsWaitUntilOthersAreAnswered() {
        channel.writeInbound(calls(6, 1));
        assertThat(served).hasSize(LIMIT);
        assertThat(isReading).isFalse();
        served.get(2).reply();
        assertThat(served).hasSize(LIMIT);
        takeReply();
        assertThat(served).hasSize(LIMIT + 1);
        assertThat(isReading).isFalse();
        for (int i : new int[] {0, 1, 3}) {
            served.get(i).reply();
            takeReply();
        }
        assertThat(served).hasSize(6);
        assertThat(isReading).isTrue();
        served.subList(4, 6).forEach(RpcServerCall::reply);
        channel.finishAndReleaseAll();
    }

    @Test
    void callsThatAreAnsweredAtOnceWaitUntilRepliesAreTaken() {
        channel.writeInbound(calls(1500, 2));
        for (int taken = 0; taken < 1500; taken++) {
            assertThat(served).hasSize(Math.min(1500, taken + LIMIT));
            takeReply();
        }
        assertThat(served).hasSize(1500);
        assertThat(isReading).isTrue();
        channel.finishAndReleaseAll();
    }

    /** The reply that is refused gives way to SYSTEM_ERR: two writes, and one call. */
    @Test
    void aReplyThatIsRefusedEndsNoCall() {
        channel.pipeline()
                .addBefore(
                        channel.pipeline().context(OutstandingCallLimitHandler.class).name(),
                        "refusing",
                        new Refusing());
        channel.writeInbound(calls(6, 2));
        for (int taken = 0; taken < 6; taken++) {
            assertThat(served).hasSize(Math.min(6, taken + LIMIT));
            takeReply();
        }
        assertThat(untaken).isEmpty();
        channel.finishAndReleaseAll();
    }

    /** The first reply. */
    private static final class Refusing extends ChannelOutboundHandlerAdapter {
        private boolean hasRefused;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (hasRefused) {
                ctx.write(message, promise);
            } else {
                hasRefused = true;
                ReferenceCountUtil.release(message);
                promise.setFailure(new IllegalArgumentException("of the test"));
            }
        }
    }

    @Test
    void aConnectionThatIsLostTakesItsWaitingCallsWithIt() {
        ByteBuf records = calls(1500, 1);
        channel.writeInbound(records);
        channel.close();
        channel.runPendingTasks();
        assertThat(served).hasSize(LIMIT);
        assertThat(records.refCnt()).isEqualTo(LIMIT);
        served.forEach(RpcServerCall::drop);
        assertThat(records.refCnt()).isZero();
    }

    /** Its client asks again; nothing of it is in memory. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallThatIsDroppedEnds(boolean isByAnotherThread) throws Exception {
        channel.writeInbound(calls(6, 1));
        for (int i = 0; i < 3; i++) {
            if (isByAnotherThread) {
                Thread other = new Thread(served.get(i)::drop);
                other.start();
                other.join();
                channel.runPendingTasks();
            } else {
                served.get(i).drop();
            }
        }
        assertThat(served).hasSize(6);
        assertThat(isReading).isTrue();
        served.subList(3, 6).forEach(RpcServerCall::drop);
        channel.finishAndReleaseAll();
    }

    /** Handlers that wait for the end of a read before they flush. */
    @Test
    void callsThatHaveWaitedAreARead() {
        AtomicInteger complete = new AtomicInteger();
        channel.pipeline()
                .addLast(
                        new ChannelInboundHandlerAdapter() {
                            @Override
                            public void channelReadComplete(ChannelHandlerContext ctx) {
                                complete.incrementAndGet();
                            }
                        });
        channel.writeInbound(calls(5, 1));
        assertThat(complete).hasValue(1);
        served.get(0).reply();
        takeReply();
        assertThat(served).hasSize(5);
        assertThat(complete).hasValue(2);
        served.get(1).reply();
        takeReply();
        assertThat(complete).hasValue(2);
        served.subList(2, 5).forEach(RpcServerCall::drop);
        channel.finishAndReleaseAll();
    }

    /** Whoever stops it begins again. */
    @ParameterizedTest
    @ValueSource(ints = {1, 6})
    void aChannelThatAnotherHasStoppedReadingStaysSo(int count) {
        channel.writeInbound(calls(count, 1));
        assertThat(isReading).isEqualTo(count < LIMIT);
        assertThat(channel.config().isAutoRead()).isTrue();
        channel.config().setAutoRead(false);
        isReading = false;
        dropServed();
        assertThat(channel.config().isAutoRead()).isFalse();
        assertThat(isReading).isFalse();
        channel.config().setAutoRead(true);
        assertThat(isReading).isTrue();
        channel.finishAndReleaseAll();
    }

    @Test
    void aChannelThatAnotherBeginsToReadAtTheLimitWaits() {
        channel.config().setAutoRead(false);
        channel.writeInbound(calls(6, 1));
        channel.config().setAutoRead(true);
        assertThat(isReading).isFalse();
        served.get(0).drop();
        assertThat(isReading).isFalse();
        dropServed();
        assertThat(isReading).isTrue();
        channel.finishAndReleaseAll();
    }

    @Test
    void aReadThatIsAskedForAtTheLimitComesLater() {
        channel.config().setAutoRead(false);
        channel.writeInbound(calls(LIMIT, 1));
        channel.read();
        assertThat(isReading).isFalse();
        served.get(0).drop();
        assertThat(isReading).isTrue();
        isReading = false;
        served.get(1).drop();
        assertThat(isReading).isFalse();
        served.subList(2, LIMIT).forEach(RpcServerCall::drop);
        channel.finishAndReleaseAll();
    }

    /** Those too that are let in meanwhile. */
    private void dropServed() {
        for (int i = 0; i < served.size(); i++) {
            if (!served.get(i).isAnswered()) {
                served.get(i).drop();
            }
        }
        served.clear();
    }

    /** Netty goes on reading a socket that no read is asked for of, unless it is told to stop. */
    @Test
    void aSocketIsNotReadAtTheLimit() throws Exception {
        int most = 64 << 20;
        ByteBuf call = calls(1, 1).writeZero(1 << 16);
        call.setInt(0, call.readableBytes() - 4 | LAST_FRAGMENT);
        ByteBuffer record = call.nioBuffer();
        AtomicReference<Channel> accepted = new AtomicReference<>();
        NioEventLoopGroup loop = new NioEventLoopGroup(1);
        Channel listener =
                new ServerBootstrap()
                        .group(loop)
                        .channel(NioServerSocketChannel.class)
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel child) {
                                        accepted.set(child);
                                        child.pipeline()
                                                .addLast(
                                                        new RecordMarkingHandler(),
                                                        new OutstandingCallLimitHandler(LIMIT),
                                                        new RpcServerHandler(program));
                                    }
                                })
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        try (SocketChannel client = SocketChannel.open(listener.localAddress())) {
            client.configureBlocking(false);
            long written = 0;
            int idleRounds = 0;
            while (idleRounds < 100 && written < most) {
                if (!record.hasRemaining()) {
                    record.rewind();
                }
                int taken = client.write(record);
                written += taken;
                idleRounds = taken == 0 ? idleRounds + 1 : 0;
                loop.submit(() -> {}).sync(); // after a look at the socket
            }
            assertThat(written).isLessThan(most);
            assertThat(accepted.get().config().isAutoRead()).isTrue();
            record.rewind();
            while (client.write(record) == 0) {
                loop.submit(this::dropServed).sync();
            }
        }
        accepted.get().close().sync();
        loop.submit(this::dropServed).sync();
        loop.shutdownGracefully(0, 30, TimeUnit.SECONDS).sync();
        call.release();
    }

    /** As an encoder of records behind this handler writes them, or a handler that marks its replies itself. */
    @Test
    void aReplyWithItsRecordMarkEndsACall() {
        EmbeddedChannel records = new EmbeddedChannel(new OutstandingCallLimitHandler(1));
        for (int xid = 0; xid < 2; xid++) {
            ByteBuf call = Unpooled.buffer();
            new CallHeader(xid, 7, 1, 1, OpaqueAuth.NONE, OpaqueAuth.NONE).writeTo(call);
            records.writeInbound(call);
        }
        assertThat(records.inboundMessages()).hasSize(1);
        ByteBuf reply = Unpooled.buffer().writeInt(24 | LAST_FRAGMENT);
        ReplyHeader.of(0, ReplyHeader.Status.SUCCESS).writeTo(reply);
        records.writeOutbound(reply);
        assertThat(records.inboundMessages()).hasSize(2);
        records.finishAndReleaseAll();
    }

    @Test
    void aHandlerThatIsRemovedKeepsNoCalls() {
        channel.writeInbound(calls(6, 1));
        channel.pipeline().remove(OutstandingCallLimitHandler.class);
        assertThat(served).hasSize(6);
        assertThat(isReading).isTrue();
        served.forEach(RpcServerCall::drop);
        channel.finishAndReleaseAll();
    }

    /** RFC 5531, 4: both ends of a connection may call. */
    @Test
    void callsInTheOtherDirectionAreNotCounted() {
        channel.writeInbound(calls(6, 1));
        channel.writeOutbound(Unpooled.buffer().writeInt(9).writeInt(0).writeInt(2));
        takeReply();
        assertThat(served).hasSize(LIMIT);
        channel.writeInbound(
                Unpooled.buffer().writeInt(12 | LAST_FRAGMENT).writeInt(9).writeInt(1).writeInt(0));
        ByteBuf reply = channel.readInbound();
        assertThat(reply.readInt()).isEqualTo(9);
        reply.release();
        for (int i = 0; i < served.size(); i++) {
            served.get(i).drop(); // which lets in one that waits
        }
        assertThat(served).hasSize(6);
        channel.finishAndReleaseAll();
    }

    @Test
    void aLimitOfNoCallsIsRefused() {
        assertThatThrownBy(() -> new OutstandingCallLimitHandler(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxOutstandingCalls");
    }

    @Test
    void aReplyWithoutMemoryForItsListenerIsReleased() {
        EmbeddedChannel limited = new EmbeddedChannel(new OutstandingCallLimitHandler(LIMIT));
        ChannelPromise promise =
                new DefaultChannelPromise(limited) {
                    @Override
                    public ChannelPromise addListener(
                            GenericFutureListener<? extends Future<? super Void>> listener) {
                        throw new OutOfMemoryError("of the test");
                    }
                };
        ByteBuf reply = Unpooled.buffer().writeInt(7).writeInt(1);
        limited.writeAndFlush(reply, promise);
        assertThat(promise.cause()).isInstanceOf(OutOfMemoryError.class);
        assertThat(reply.refCnt()).isZero();
        assertThat(limited.finish()).isFalse();
    }
}
