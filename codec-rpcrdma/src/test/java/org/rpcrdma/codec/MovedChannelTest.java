// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;

/** The stages of the codec run on the event loop of their channel, on no other one. */
class MovedChannelTest {

    private final RdmaEventLoopGroup first = new RdmaEventLoopGroup(1);
    private final RdmaEventLoopGroup second = new RdmaEventLoopGroup(1);
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    @AfterEach
    void shutDown() {
        first.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
        second.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void aChannelWithTheCodecDoesNotMove() throws Exception {
        Channel channel =
                new Bootstrap()
                        .group(first)
                        .channel(RdmaChannel.class)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        made.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(RpcRdmaConfig.defaults()),
                                                        new Ear());
                                    }
                                })
                        .register()
                        .sync()
                        .channel();
        channel.deregister().sync();
        assertThat(channel.isOpen()).isFalse();
        assertThat(failures)
                .singleElement()
                .isInstanceOf(IllegalStateException.class)
                .extracting(Throwable::getMessage)
                .asString()
                .contains("left its event loop with RpcRdmaCodec in its pipeline")
                .contains("register a new channel with the other one");
        assertThat(second.register(channel).await().cause())
                .isInstanceOf(ClosedChannelException.class);
        assertThat(channel.pipeline().names()).as("but for the tail").hasSize(1);
    }

    private final class Ear extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failures.add(cause);
        }
    }
}
