// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.verbs.QueuePair;

/** The end of a stream's output, and what was flushed before it. */
@NeedsDevice("privateDataOnAccept")
class StreamOutputEndTest {

    private static final byte[] BYTES = {1, 2, 3};

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private final BlockingQueue<ChannelFuture> answers = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    /** Answers all that it reads. */
    private final class Answering extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((ByteBuf) message).release();
            answers.add(ctx.writeAndFlush(Unpooled.copiedBuffer(BYTES)));
        }
    }

    private InetSocketAddress listen() throws InterruptedException {
        return (InetSocketAddress)
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaStreamChannel>() {
                                    @Override
                                    protected void initChannel(RdmaStreamChannel channel) {
                                        channel.pipeline().addLast(new Answering());
                                    }
                                })
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel()
                        .localAddress();
    }

    @Test
    void aWriteThatIsFlushedBeforeTheCloseSucceeds() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            ChannelFuture write =
                    on(
                            pair.client,
                            () -> {
                                ChannelFuture flushed =
                                        pair.client.writeAndFlush(Unpooled.copiedBuffer(BYTES));
                                pair.client.close();
                                return flushed;
                            });
            assertThat(write.await().cause()).isNull();
            pair.serverSide.awaitBytes(BYTES);
            pair.clientSide.awaitClosed();
        }
    }

    /** An empty write completes inside of its flush, before what the listener flushes is posted. */
    @Test
    void whatTheListenerOfAnEmptyWriteFlushesGoesOutBeforeItsClose() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            List<ChannelFuture> writes = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        pair.client
                                .write(Unpooled.EMPTY_BUFFER)
                                .addListener(
                                        empty -> {
                                            writes.add(
                                                    pair.client.writeAndFlush(
                                                            Unpooled.copiedBuffer(BYTES)));
                                            pair.client.close();
                                        });
                        return pair.client.flush();
                    });
            pair.clientSide.awaitClosed();
            pair.serverSide.awaitClosed();
            assertThat(pair.serverSide.errors).isEmpty();
            assertThat(pair.serverSide.bytes()).isEqualTo(BYTES);
            assertThat(writes).singleElement().matches(ChannelFuture::isSuccess);
        }
    }

    /** The end of the output may be refused as well; the close has nothing to wait for. */
    @Test
    void aDeviceThatRefusesWhatIsFlushedBeforeTheCloseEndsItAtOnce() throws Exception {
        AtomicBoolean refuses = new AtomicBoolean();
        RdmaEventLoopGroup clients =
                new RdmaEventLoopGroup(
                        1,
                        InterceptedDevice.of(
                                call -> {
                                    Object made = call.proceed();
                                    return made instanceof QueuePair queuePair
                                            ? refusing(queuePair, refuses)
                                            : made;
                                }),
                        PollMode.BLOCKING);
        try {
            Channel channel =
                    new Bootstrap()
                            .group(clients)
                            .channel(RdmaStreamChannel.class)
                            .option(ChannelOption.SO_LINGER, 3600)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(listen())
                            .sync()
                            .channel();
            channel.eventLoop()
                    .submit(
                            () -> {
                                channel.write(Unpooled.EMPTY_BUFFER)
                                        .addListener(
                                                empty -> {
                                                    channel.writeAndFlush(
                                                            Unpooled.copiedBuffer(BYTES));
                                                    channel.close();
                                                    refuses.set(true);
                                                });
                                channel.flush();
                                assertThat(channel.isOpen()).isFalse();
                            })
                    .sync();
        } finally {
            clients.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    private static QueuePair refusing(QueuePair queuePair, AtomicBoolean refuses) {
        return InterceptedDevice.intercepted(
                QueuePair.class,
                queuePair,
                call -> {
                    if (refuses.get() && !call.name().equals("close")) {
                        throw new IllegalStateException("of the test");
                    }
                    return call.proceed();
                });
    }

    /** Without half-closure the channel closes upon the end of its input, before its answer has completed. */
    @Test
    void anAnswerSucceedsThoughTheInputHasEnded() throws Exception {
        InetSocketAddress address = listen();
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            ReceiveBufferAddress buffer = peer.peer.buffer();
            peer.write(buffer.offset(), buffer.key(), (byte) 1);
            peer.open(RsocketMessage.data(1), 8192);
            peer.open(RsocketMessage.SHUTDOWN, 8196);
            peer.queuePair.doorbell();
            peer.await(() -> peer.messages.contains(RsocketMessage.DISCONNECT));
            assertThat(peer.received(0, BYTES.length)).isEqualTo(BYTES);
            ChannelFuture answer = answers.take();
            peer.await(answer::isDone);
            assertThat(answer.cause()).isNull();
        }
    }

    /** As one that encrypts may: its last bytes were written before it said that it is through. */
    private static final class EndingWithoutBytes extends DefaultFileRegion {
        private final int bytes;
        private long done;

        EndingWithoutBytes(int bytes) {
            super(new File("none"), 0, bytes + 1);
            this.bytes = bytes;
        }

        @Override
        public long transferTo(WritableByteChannel target, long position) throws IOException {
            if (position == bytes) {
                done++;
                return 0;
            }
            int written = target.write(ByteBuffer.allocate(bytes - (int) position));
            done += written;
            return written;
        }

        @Override
        public long transferred() {
            return done;
        }
    }

    @Test
    void anOutputEndsBehindARegionWhoseEndHasNoBytes() throws Exception {
        InetSocketAddress address = listen();
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, BYTES.length + 10)) {
            ReceiveBufferAddress buffer = peer.peer.buffer();
            peer.write(buffer.offset(), buffer.key(), (byte) 1);
            peer.send(RsocketMessage.data(1));
            peer.await(() -> peer.dataReceived() == BYTES.length);
            RdmaStreamChannel channel = (RdmaStreamChannel) answers.take().channel();
            ChannelFuture write = channel.writeAndFlush(new EndingWithoutBytes(10));
            ChannelFuture end = channel.shutdownOutput();
            peer.await(() -> peer.dataReceived() == BYTES.length + 10);
            on(channel, () -> null);
            assertThat(write.isDone()).describedAs("there is no room to ask it again").isFalse();
            peer.publish(1, 1000, 10, RawStreamPeer.CREDITS);
            peer.await(write::isDone);
            on(channel, () -> null);
            assertThat(write.isSuccess()).isTrue();
            assertThat(end.isSuccess()).isTrue();
            peer.await(() -> peer.messages.contains(RsocketMessage.SHUTDOWN));
        }
    }
}
