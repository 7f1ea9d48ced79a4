// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ServerChannel;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** An error that comes up at the end of a connection keeps no channel open. */
class EndByErrorTest {

    /** Refuses all that a close posts. */
    private final AtomicBoolean isBroken = new AtomicBoolean();

    private final RdmaEventLoopGroup servers =
            new RdmaEventLoopGroup(1, new IwarpProvider(), PollMode.BLOCKING);

    private final RdmaEventLoopGroup clients =
            new RdmaEventLoopGroup(
                    1,
                    InterceptedDevice.of(
                            new IwarpProvider(),
                            call -> {
                                Object result = call.proceed();
                                return call.name().equals("createQueuePair")
                                        ? breakable((QueuePair) result)
                                        : result;
                            }),
                    PollMode.BLOCKING);

    private QueuePair breakable(QueuePair queuePair) {
        return InterceptedDevice.intercepted(
                QueuePair.class,
                queuePair,
                call -> {
                    if (isBroken.get() && !call.name().equals("close")) {
                        throw new LinkageError("of the test");
                    }
                    return call.proceed();
                });
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private Channel connected(boolean isStream) throws InterruptedException {
        Class<? extends ServerChannel> server =
                isStream ? RdmaServerStreamChannel.class : RdmaServerChannel.class;
        Channel listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(server)
                        .childHandler(new Drain())
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        return new Bootstrap()
                .group(clients)
                .channel(isStream ? RdmaStreamChannel.class : RdmaChannel.class)
                .handler(new Drain())
                .connect(listener.localAddress())
                .sync()
                .channel();
    }

    private static final class Drain extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ReferenceCountUtil.release(message);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCloseWhoseLastMessageMeetsAnErrorCloses(boolean isStream) throws Exception {
        Channel client = connected(isStream);
        isBroken.set(true);
        assertThat(client.close().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(client.isOpen()).isFalse();
        assertThat(client.closeFuture().isDone()).isTrue();
    }

    /** Only the end of the connection ends the peer's access, so it cannot wait. */
    @Test
    void aHandleThatCannotBeInvalidatedCutsACloseThatWaits() throws Exception {
        RdmaChannel client = (RdmaChannel) connected(false);
        ConnectedPair.on(
                client,
                () -> {
                    ByteBuf memory = client.registeredBuffer(100);
                    int handle = client.expose(memory, 0, 100, RemoteAccess.WRITE);
                    client.writeAndFlush(Unpooled.copyInt(1));
                    client.close();
                    assertThat(client.isClosing()).isTrue();
                    isBroken.set(true);
                    assertThatThrownBy(() -> client.invalidate(handle))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("the connection is closed");
                    assertThat(client.hasQueuePair()).isFalse();
                    assertThat(client.isOpen()).isFalse();
                    memory.release();
                    return null;
                });
        assertThat(client.closeFuture().isDone()).isTrue();
    }

    /** The event of the end is the last one: where it is lost, nobody else closes the channel. */
    @Test
    void aChannelThatCannotTakeTheNewsOfItsEndCloses() {
        RdmaChannel unregistered = new RdmaChannel();
        assertThatThrownBy(() -> unregistered.events().disconnected(null))
                .isInstanceOf(NullPointerException.class);
        assertThat(unregistered.isOpen()).isFalse();
    }
}
