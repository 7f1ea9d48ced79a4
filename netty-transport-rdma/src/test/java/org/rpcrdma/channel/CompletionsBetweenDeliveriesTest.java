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
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What a channel has sent in a round is complete before the next one reads, and before the next poll. */
class CompletionsBetweenDeliveriesTest {

    private static final long PATIENCE_SECONDS = 60;

    private final RdmaEventLoopGroup group = group(watched());
    private final RdmaEventLoopGroup clients = group(device());
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> order = new LinkedBlockingQueue<>();

    /** Polls that are still noted, and that are not the last one; of the thread of the loop. */
    private int polls;

    /** It completes Sends within a doorbell. */
    private static VerbsProvider device() {
        return new IwarpProvider(IwarpConfig.defaults());
    }

    private VerbsProvider watched() {
        return InterceptedDevice.of(
                device(),
                call -> {
                    if (call.name().equals("hasReadyConnections") && polls > 0) {
                        return true;
                    }
                    if (call.name().equals("poll") && polls > 0) {
                        polls--;
                        order.add("poll");
                        return (int) call.proceed() + 1;
                    }
                    return call.proceed();
                });
    }

    private static RdmaEventLoopGroup group(VerbsProvider device) {
        return new RdmaEventLoopGroup(1, device, PollMode.ADAPTIVE);
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

    /** The next connections are read when what has come from the first ones is answered. */
    @Test
    void pollsOfARoundWaitForDeliveries() throws Exception {
        Channel one = withInput(listener(RdmaServerChannel.class), RdmaChannel.class);
        one.eventLoop()
                .submit(
                        () -> {
                            one.read();
                            polls = 2;
                        })
                .sync();
        assertOrder("poll", "read " + one.id(), "written " + one.id(), "poll");
    }

    private void answersAreCompleteInTurns(
            Class<? extends ServerChannel> server, Class<? extends Channel> client)
            throws Exception {
        Channel listener = listener(server);
        Channel one = withInput(listener, client);
        Channel other = withInput(listener, client);
        one.eventLoop()
                .submit(
                        () -> {
                            one.read();
                            other.read();
                        })
                .sync();
        assertOrder(
                "read " + one.id(),
                "written " + one.id(),
                "read " + other.id(),
                "written " + other.id());
    }

    private void assertOrder(String... expected) throws InterruptedException {
        for (String each : expected) {
            assertThat(order.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(each);
        }
    }

    private Channel listener(Class<? extends ServerChannel> server) throws Exception {
        return new ServerBootstrap()
                .group(group)
                .channel(server)
                .childOption(ChannelOption.AUTO_READ, false)
                .childHandler(initializer())
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel();
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
