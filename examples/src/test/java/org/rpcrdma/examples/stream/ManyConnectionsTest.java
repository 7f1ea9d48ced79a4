// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaStreamChannel;

/** Connections come and go as those of a web server do: each has one answer, and then its server closes it. */
class ManyConnectionsTest {

    private static final int CONNECTIONS = 5000;
    private static final int AT_ONCE = 100;

    private final AtomicInteger answers = new AtomicInteger();

    @Test
    void eachHasItsAnswerAndEnds() throws Exception {
        try (Loops loops = new Loops()) {
            SocketAddress address = loops.serve(channel -> new ChannelHandler[] {new Once()});
            Bootstrap bootstrap =
                    new Bootstrap()
                            .group(loops.client)
                            .channel(RdmaStreamChannel.class)
                            .handler(
                                    new ChannelInitializer<Channel>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline().addLast(new Asking());
                                        }
                                    });
            for (int made = 0; made < CONNECTIONS; made += AT_ONCE) {
                List<ChannelFuture> connected = new ArrayList<>();
                for (int i = 0; i < AT_ONCE; i++) {
                    connected.add(bootstrap.connect(address));
                }
                for (ChannelFuture connect : connected) {
                    assertThat(connect.await(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                    assertThat(connect.cause()).isNull();
                    ChannelFuture end = connect.channel().closeFuture();
                    assertThat(end.await(Loops.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                }
            }
        }
        assertThat(answers).hasValue(CONNECTIONS);
    }

    private final class Asking extends SimpleChannelInboundHandler<ByteBuf> {
        private int received;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            context.writeAndFlush(context.alloc().buffer().writeInt(7));
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
            received += bytes.readableBytes();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            if (received == Integer.BYTES) {
                answers.incrementAndGet();
            }
        }
    }

    /** Gives back what comes, and closes. */
    private static final class Once extends ChannelInboundHandlerAdapter {
        private int received;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            received += ((ByteBuf) message).readableBytes();
            boolean isLast = received == Integer.BYTES;
            ChannelFuture answer = context.writeAndFlush(message);
            if (isLast) {
                answer.addListener(future -> context.close());
            }
        }
    }
}
