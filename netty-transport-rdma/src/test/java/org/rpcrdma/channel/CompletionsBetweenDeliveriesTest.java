// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** In a round with several channels, what one of them has sent is complete before the next one reads. */
class CompletionsBetweenDeliveriesTest {

    private static final long PATIENCE_SECONDS = 60;

    private final RdmaEventLoopGroup group = group();
    private final RdmaEventLoopGroup clients = group();
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> order = new LinkedBlockingQueue<>();

    /** Of the device that completes Sends within a doorbell. */
    private static RdmaEventLoopGroup group() {
        return new RdmaEventLoopGroup(
                1, new IwarpProvider(IwarpConfig.defaults()), PollMode.ADAPTIVE);
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void ofMessages() throws Exception {
        answersAreCompleteInTurns(RdmaServerChannel.class, RdmaChannel.class);
    }

    @Test
    void ofStreams() throws Exception {
        answersAreCompleteInTurns(RdmaServerStreamChannel.class, RdmaStreamChannel.class);
    }

    private void answersAreCompleteInTurns(
            Class<? extends ServerChannel> server, Class<? extends Channel> client)
            throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(server)
                        .childOption(ChannelOption.AUTO_READ, false)
                        .childHandler(initializer())
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Channel one = withInput(listener, client);
        Channel other = withInput(listener, client);
        one.eventLoop()
                .submit(
                        () -> {
                            one.read();
                            other.read();
                        })
                .sync();
        List<String> expected =
                List.of(
                        "read " + one.id(),
                        "written " + one.id(),
                        "read " + other.id(),
                        "written " + other.id());
        for (String each : expected) {
            assertThat(order.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(each);
        }
    }

    /** A channel of the server that has something to read. */
    private Channel withInput(Channel listener, Class<? extends Channel> client) throws Exception {
        new Bootstrap()
                .group(clients)
                .channel(client)
                .handler(new ChannelInboundHandlerAdapter())
                .connect(listener.localAddress())
                .sync()
                .channel()
                .writeAndFlush(Unpooled.wrappedBuffer(new byte[1]))
                .sync();
        AbstractConnectedRdmaChannel channel =
                (AbstractConnectedRdmaChannel) accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        StreamPair.await(() -> ConnectedPair.on(channel, () -> channel.dataPath().hasInbound()));
        return channel;
    }

    private ChannelInitializer<Channel> initializer() {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new Answer());
            }
        };
    }

    private final class Answer extends ChannelInboundHandlerAdapter {

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            accepted.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            order.add("read " + ctx.channel().id());
            ctx.writeAndFlush(message)
                    .addListener(sent -> order.add("written " + ctx.channel().id()));
        }
    }
}
