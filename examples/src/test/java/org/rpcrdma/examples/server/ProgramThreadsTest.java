// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

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
