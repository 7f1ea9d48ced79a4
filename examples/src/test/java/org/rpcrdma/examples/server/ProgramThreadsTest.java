// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.internal.PlatformDependent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;

class ProgramThreadsTest {

    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final List<Object> executed = new ArrayList<>();

    private final class Program extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object call) {
            executed.add(call);
        }
    }

    @Test
    void aCallIsExecutedThoughItsConnectionIsLostBeforeItsTurn() {
        EmbeddedChannel channel =
                new EmbeddedChannel(new ProgramThreads(tasks::add, new Program()));
        channel.writeInbound("call");
        channel.close();
        channel.runPendingTasks();
        assertThat(channel.pipeline().first()).isNull();
        assertThat(executed).isEmpty();
        tasks.remove().run();
        assertThat(executed).containsExactly("call");
    }

    @Test
    void aFailureEndsTheConnection() {
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new ProgramThreads(
                                tasks::add,
                                new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void channelRead(
                                            ChannelHandlerContext ctx, Object call) {
                                        throw new IllegalStateException("test");
                                    }
                                }),
                        new FailureHandler());
        channel.writeInbound("call");
        tasks.remove().run();
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
    }

    /** Its caller would wait for ever, and over RDMA without the credit. */
    @ParameterizedTest
    @ValueSource(classes = {OutOfMemoryError.class, IllegalStateException.class})
    void aCallThatFailsIsAnswered(Class<? extends Throwable> failure) throws Exception {
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        RpcUtil.STAGE_RPC_MESSAGE_PARSER,
                        new ProgramThreads(tasks::add, new Failing(failure)),
                        new FailureHandler());
        ByteBuf call = Unpooled.buffer();
        CallHeader.of(1, 2, 3, OpaqueAuth.NONE).writeTo(call);
        call.setInt(0, 7);
        channel.writeInbound(call);
        tasks.remove().run();
        channel.runPendingTasks();
        ByteBuf reply = channel.readOutbound();
        ReplyHeader header = ReplyHeader.read(reply);
        assertThat(header.xid()).isEqualTo(7);
        assertThat(header.status()).isEqualTo(ReplyHeader.Status.SYSTEM_ERR);
        assertThat(channel.isOpen()).isTrue();
        assertThat(call.refCnt()).isZero();
        reply.release();
    }

    /** As Hadoop's programs, it releases what it was given. */
    private static final class Failing extends ChannelInboundHandlerAdapter {
        private final Class<? extends Throwable> failure;

        Failing(Class<? extends Throwable> failure) {
            this.failure = failure;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object call) {
            ((RpcInfo) call).data().release();
            PlatformDependent.throwException(newFailure());
        }

        private Throwable newFailure() {
            try {
                return failure.getConstructor(String.class).newInstance("of the test");
            } catch (ReflectiveOperationException e) {
                throw new LinkageError(failure + " cannot be made", e);
            }
        }
    }

    /** A reply that there is no memory to send ends the connection, so that its caller asks again. */
    @Test
    void aReplyThatCannotBeSentEndsTheConnection() {
        ByteBuf reply = Unpooled.buffer(4);
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(
                                    ChannelHandlerContext ctx,
                                    Object message,
                                    ChannelPromise promise) {
                                ReferenceCountUtil.release(message);
                                throw new OutOfMemoryError("of the test");
                            }
                        },
                        new FailureHandler());
        RpcReplyWriter.send(channel, reply);
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
        assertThat(reply.refCnt()).isZero();
    }

    @Test
    void whatComesAfterTheEndOfTheServerIsReleased() {
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new ProgramThreads(
                                task -> {
                                    throw new RejectedExecutionException("closed");
                                },
                                new Program()));
        ByteBuf call = Unpooled.buffer(4);
        channel.writeInbound(call);
        assertThat(call.refCnt()).isZero();
        assertThat(executed).isEmpty();
    }
}
