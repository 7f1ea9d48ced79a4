// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.util.AbstractReferenceCounted;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.StreamPair.Collector;

/** A stream between two ends of this library, over the software RNIC. */
@NeedsDevice("privateDataOnAccept")
class RdmaStreamChannelTest {

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static <T> T on(RdmaStreamChannel channel, Callable<T> action) throws Exception {
        return channel.eventLoop()
                .submit(action)
                .get(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    // ------------------------------------------------------------------ bytes

    @Test
    void bytesArriveInOrderBothWays() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] there = random(1000);
            byte[] back = random(2000);
            for (int i = 0; i < there.length; i += 10) {
                pair.client.writeAndFlush(Unpooled.copiedBuffer(there, i, 10));
            }
            pair.serverSide.awaitBytes(there);
            pair.server.writeAndFlush(Unpooled.wrappedBuffer(back)).sync();
            pair.clientSide.awaitBytes(back);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 255, 256, 16383, 16384, 65535, 65536, 65537, 131073, 20_000_000})
    void aWriteOfAnySizeStreams(int length) throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] bytes = random(length);
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(bytes)).sync();
            pair.serverSide.awaitBytes(bytes);
        }
    }

    @Test
    void anyBufferIsTaken(@TempDir Path directory) throws Exception {
        byte[] bytes = random(400_000);
        Path file = Files.write(directory.resolve("file"), bytes);
        try (StreamPair pair = new StreamPair()) {
            ByteBuf registered =
                    on(
                            pair.client,
                            () ->
                                    pair.client
                                            .registeredBuffer(100_000)
                                            .writeBytes(bytes, 0, 100_000));
            CompositeByteBuf composite =
                    Unpooled.compositeBuffer()
                            .addComponent(true, Unpooled.copiedBuffer(bytes, 150_000, 1))
                            .addComponent(
                                    true,
                                    Unpooled.directBuffer().writeBytes(bytes, 150_001, 49_999));
            pair.client.write(registered);
            pair.client.write(Unpooled.EMPTY_BUFFER);
            pair.client.write(Unpooled.directBuffer().writeBytes(bytes, 100_000, 50_000));
            pair.client.write(composite);
            pair.client.write(new DefaultFileRegion(file.toFile(), 200_000, 150_000));
            ChannelFuture last =
                    pair.client.writeAndFlush(
                            Unpooled.wrappedBuffer(Arrays.copyOfRange(bytes, 350_000, 400_000)));
            last.sync();
            pair.serverSide.awaitBytes(bytes);
        }
    }

    @Test
    void aRegionNeedNotWriteAsManyBytesAsItCounts() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] before = random(100);
            byte[] after = random(30_000);
            List<String> done = Collections.synchronizedList(new ArrayList<>());
            pair.client
                    .write(Unpooled.wrappedBuffer(before))
                    .addListener(future -> done.add("before"));
            pair.client
                    .write(new Framing(100_000, 1000, 1700))
                    .addListener(future -> done.add("longer"));
            pair.client.write(new Framing(16, 16, 1)).addListener(future -> done.add("shorter"));
            pair.client.write(new Framing(16, 8, 0)).addListener(future -> done.add("nothing"));
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(after)).sync();
            assertThat(done).containsExactly("before", "longer", "shorter", "nothing");
            byte[] all = Arrays.copyOf(before, 100 + 170_000 + 1 + after.length);
            Arrays.fill(all, 100, 100 + 170_001, (byte) 7);
            System.arraycopy(after, 0, all, all.length - after.length, after.length);
            pair.serverSide.awaitBytes(all);
        }
    }

    @Test
    void aRegionGoesOnWhereItIs(@TempDir Path directory) throws Exception {
        byte[] bytes = random(50_000);
        Path file = Files.write(directory.resolve("file"), bytes);
        try (StreamPair pair = new StreamPair()) {
            DefaultFileRegion region = new DefaultFileRegion(file.toFile(), 0, bytes.length);
            BoundedFileRegionCopy sink = new BoundedFileRegionCopy();
            ByteBuf begun = Unpooled.buffer(1000);
            sink.begin(begun, 1000);
            region.transferTo(sink, 0);
            pair.client.write(begun);
            pair.client.writeAndFlush(region).sync();
            pair.serverSide.awaitBytes(bytes);
        }
    }

    @Test
    void aRegionThatIsShorterThanItCountsFailsItsWrite(@TempDir Path directory) throws Exception {
        Path file = Files.write(directory.resolve("file"), random(1000));
        try (StreamPair pair = new StreamPair()) {
            ChannelFuture write =
                    pair.client
                            .writeAndFlush(new DefaultFileRegion(file.toFile(), 0, 1001))
                            .await();
            assertThat(write.cause()).isInstanceOf(IOException.class);
        }
    }

    /** Counts pieces and writes others in their place, as one does that encrypts. */
    private static final class Framing extends AbstractReferenceCounted implements FileRegion {
        private final long count;
        private final int piece;
        private final int written;
        private ByteBuffer frame = ByteBuffer.allocate(0);
        private long transferred;

        /** Writes so many bytes for each piece. */
        Framing(long count, int piece, int written) {
            this.count = count;
            this.piece = piece;
            this.written = written;
        }

        @Override
        public long transferTo(WritableByteChannel target, long position) throws IOException {
            assertThat(position).isEqualTo(transferred).isLessThan(count);
            if (!frame.hasRemaining()) {
                frame = ByteBuffer.allocate(written);
                Arrays.fill(frame.array(), (byte) 7);
            }
            int bytes = target.write(frame);
            if (!frame.hasRemaining()) {
                transferred += piece;
            }
            return bytes;
        }

        @Override
        public long position() {
            return 0;
        }

        @Override
        @Deprecated
        public long transfered() {
            return transferred;
        }

        @Override
        public long transferred() {
            return transferred;
        }

        @Override
        public long count() {
            return count;
        }

        @Override
        public FileRegion retain() {
            super.retain();
            return this;
        }

        @Override
        public FileRegion retain(int increment) {
            super.retain(increment);
            return this;
        }

        @Override
        public FileRegion touch() {
            return this;
        }

        @Override
        public FileRegion touch(Object hint) {
            return this;
        }

        @Override
        protected void deallocate() {
            // It has no file.
        }
    }

    @Test
    void whatIsNoBytesIsRefused() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            ChannelFuture write = pair.client.writeAndFlush("text").await();
            assertThat(write.cause())
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("expected: ByteBuf, FileRegion");
            assertThat(pair.client.isActive()).isTrue();
        }
    }

    @Test
    void promisesKeepTheOrderOfWrites() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            List<Integer> done = Collections.synchronizedList(new ArrayList<>());
            int count = 500;
            for (int i = 0; i < count; i++) {
                int number = i;
                ByteBuf buffer =
                        switch (i % 4) {
                            case 0 -> Unpooled.EMPTY_BUFFER;
                            case 1 -> Unpooled.directBuffer().writeZero(20_000);
                            case 2 -> Unpooled.buffer().writeZero(7);
                            default -> Unpooled.buffer().writeZero(3000);
                        };
                pair.client.write(buffer).addListener(future -> done.add(number));
            }
            pair.client.flush();
            StreamPair.await(() -> done.size() == count);
            assertThat(done).isSorted();
            assertThat(done).hasSize(count);
        }
    }

    @Test
    void aWriteThatIsCancelledBeforeItsFlushIsNotSent() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] bytes = random(20);
            List<ChannelFuture> writes = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        writes.add(pair.client.write(Unpooled.copiedBuffer(bytes, 0, 10)));
                        writes.add(pair.client.write(Unpooled.copiedBuffer(random(5))));
                        writes.get(1).cancel(false);
                        writes.add(pair.client.write(Unpooled.copiedBuffer(bytes, 10, 10)));
                        writes.add(pair.client.write(Unpooled.copiedBuffer(random(5))));
                        writes.get(3).cancel(false);
                        pair.client.flush();
                        return null;
                    });
            writes.get(0).sync();
            writes.get(2).sync();
            pair.serverSide.awaitBytes(bytes);
            pair.client.writeAndFlush(Unpooled.copiedBuffer(bytes)).sync();
            StreamPair.await(() -> pair.serverSide.size() == 40);
        }
    }

    @Test
    void whoHearsOfAnEmptyWriteMayFlushMore() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] bytes = random(10);
            pair.client
                    .writeAndFlush(Unpooled.EMPTY_BUFFER)
                    .addListener(f -> pair.client.writeAndFlush(Unpooled.copiedBuffer(bytes)));
            pair.serverSide.awaitBytes(bytes);
        }
    }

    /** As chunks of a large file are flushed, one upon the progress of the other. */
    @Test
    void whoHearsOfProgressMayFlush() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] bytes = random(30);
            pair.client
                    .writeAndFlush(
                            Unpooled.copiedBuffer(bytes, 0, 10),
                            pair.client.newProgressivePromise().addListener(new Flushing()))
                    .sync();
            pair.client.writeAndFlush(Unpooled.copiedBuffer(bytes, 10, 20));
            pair.serverSide.awaitBytes(bytes);
        }
    }

    private static final class Flushing implements ChannelProgressiveFutureListener {
        @Override
        public void operationProgressed(
                ChannelProgressiveFuture future, long progress, long total) {
            future.channel().flush();
        }

        @Override
        public void operationComplete(ChannelProgressiveFuture future) {
            // Only progress counts.
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {512, 1000, 4096, 1 << 20})
    void ringsOfAnySize(int size) throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client ->
                                client.option(ChannelOption.SO_SNDBUF, size)
                                        .option(RdmaChannelOption.SEND_DEPTH, 32),
                        server ->
                                server.childOption(ChannelOption.SO_RCVBUF, size)
                                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, 16))) {
            byte[] bytes = random(300_000);
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(bytes)).sync();
            pair.serverSide.awaitBytes(bytes);
        }
    }

    @Test
    void fullDuplexWithSmallWrites() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(RdmaChannelOption.RECEIVE_DEPTH, 16),
                        server -> server.childOption(RdmaChannelOption.RECEIVE_DEPTH, 16))) {
            byte[] bytes = random(37 * 5000);
            for (int i = 0; i < bytes.length; i += 37) {
                pair.client.writeAndFlush(Unpooled.copiedBuffer(bytes, i, 37));
                pair.server.writeAndFlush(Unpooled.copiedBuffer(bytes, i, 37));
            }
            pair.serverSide.awaitBytes(bytes);
            pair.clientSide.awaitBytes(bytes);
        }
    }

    // ------------------------------------------------------------------ back-pressure

    @Test
    void aPeerThatDoesNotReadStopsTheWriter() throws Exception {
        WriteBufferWaterMark marks = new WriteBufferWaterMark(1000, 2000);
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.WRITE_BUFFER_WATER_MARK, marks),
                        server -> server.childOption(ChannelOption.AUTO_READ, false))) {
            byte[] bytes = random(1 << 20);
            ChannelFuture write = pair.client.writeAndFlush(Unpooled.wrappedBuffer(bytes));
            StreamPair.await(() -> !pair.client.isWritable());
            RdmaEventLoop loop = (RdmaEventLoop) pair.server.eventLoop();
            long lent = on(pair.server, () -> loop.poller().pool.lentBytes());
            assertThat(lent).isLessThan(200_000);
            assertThat(pair.serverSide.size()).isZero();
            assertThat(write.isDone()).isFalse();
            pair.server.config().setAutoRead(true);
            pair.serverSide.awaitBytes(bytes);
            write.sync();
            StreamPair.await(pair.client::isWritable);
        }
    }

    @Test
    void oneReadDeliversWithoutAutoRead() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> {},
                        server -> server.childOption(ChannelOption.AUTO_READ, false))) {
            pair.client.writeAndFlush(Unpooled.copiedBuffer(random(10))).sync();
            pair.server.read();
            StreamPair.await(() -> pair.serverSide.messages() == 1);
            pair.client.writeAndFlush(Unpooled.copiedBuffer(random(10))).sync();
            pair.client.close().sync();
            assertThat(pair.serverSide.messages()).isEqualTo(1);
            assertThat(pair.server.isOpen()).isTrue();
            pair.server.read();
            pair.serverSide.awaitClosed();
            assertThat(pair.serverSide.size()).isEqualTo(20);
        }
    }

    /** The peer is told of as many credits as there are receives for, and those are posted when it is bound. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void depthsAreFixedOnceTheChannelIsBound(boolean ofReceives) throws Exception {
        ChannelOption<Integer> depth =
                ofReceives ? RdmaChannelOption.RECEIVE_DEPTH : RdmaChannelOption.SEND_DEPTH;
        try (StreamPair pair = new StreamPair()) {
            RdmaStreamChannel channel = new RdmaStreamChannel();
            channel.config().setOption(depth, 64);
            pair.client.eventLoop().register(channel).sync();
            channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).sync();
            assertThatThrownBy(() -> channel.config().setOption(depth, 4096))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("fixed once the channel is bound");
            assertThat(channel.config().getOption(depth)).isEqualTo(64);
            channel.connect(pair.address()).sync();
            channel.close().sync();
        }
    }

    // ------------------------------------------------------------------ the end

    @Test
    void closingInTheListenerOfAWriteLosesNothing() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            byte[] bytes = random(3_000_000);
            pair.client
                    .writeAndFlush(Unpooled.wrappedBuffer(bytes))
                    .addListener(future -> pair.client.close());
            pair.serverSide.awaitClosed();
            assertThat(pair.serverSide.bytes()).isEqualTo(bytes);
            assertThat(pair.serverSide.errors).isEmpty();
            pair.clientSide.awaitClosed();
            assertThat(pair.clientSide.errors).isEmpty();
        }
    }

    @Test
    void anOutputThatIsShutDownLeavesTheOtherDirection() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.ALLOW_HALF_CLOSURE, true),
                        server -> server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true))) {
            byte[] request = random(100_000);
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(request)).sync();
            pair.client.shutdownOutput().sync();
            assertThat(pair.client.isOutputShutdown()).isTrue();
            assertThat(pair.client.writeAndFlush(Unpooled.copiedBuffer(request)).await().cause())
                    .isInstanceOf(ClosedChannelException.class);
            pair.serverSide.awaitBytes(request);
            StreamPair.await(
                    () ->
                            pair.serverSide.events.contains(
                                    ChannelInputShutdownReadComplete.INSTANCE));
            assertThat(pair.serverSide.events)
                    .containsExactly(
                            ChannelInputShutdownEvent.INSTANCE,
                            ChannelInputShutdownReadComplete.INSTANCE);
            assertThat(pair.server.isInputShutdown()).isTrue();
            assertThat(pair.server.isActive()).isTrue();
            byte[] reply = random(200_000);
            pair.server.writeAndFlush(Unpooled.wrappedBuffer(reply)).sync();
            pair.clientSide.awaitBytes(reply);
            pair.server.close().sync();
            pair.clientSide.awaitClosed();
            assertThat(pair.clientSide.errors).isEmpty();
            assertThat(pair.serverSide.errors).isEmpty();
        }
    }

    /** What is written after the call is refused at once, also while flushed data waits for the peer's room. */
    @Test
    void theEndOfTheOutputGoesOutBehindWhatWasFlushed() throws Exception {
        byte[] bytes = random(3_000_000);
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.ALLOW_HALF_CLOSURE, true),
                        server ->
                                server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                                        .childOption(ChannelOption.AUTO_READ, false))) {
            RdmaStreamChannel client = pair.client;
            List<ChannelFuture> done = Collections.synchronizedList(new ArrayList<>());
            List<ChannelFuture> futures =
                    on(
                            client,
                            () -> {
                                List<ChannelFuture> all = new ArrayList<>();
                                all.add(client.writeAndFlush(Unpooled.wrappedBuffer(bytes)));
                                all.add(client.write(Unpooled.copyInt(1)));
                                all.add(client.shutdownOutput());
                                all.add(client.writeAndFlush(Unpooled.copyInt(2)));
                                all.add(client.shutdownOutput());
                                all.forEach(one -> one.addListener(f -> done.add(one)));
                                assertThat(client.isOutputShutdown()).isTrue();
                                return all;
                            });
            ChannelFuture written = futures.get(0);
            ChannelFuture shutdown = futures.get(2);
            assertThat(futures.get(3).await().cause()).isInstanceOf(ClosedChannelException.class);
            assertThat(futures.get(4).await().cause()).isInstanceOf(ClosedChannelException.class);
            assertThat(written.isDone()).isFalse();
            assertThat(shutdown.isDone()).isFalse();
            pair.server.config().setAutoRead(true);
            written.sync();
            shutdown.sync();
            assertThat(futures.get(1).await().isSuccess()).isTrue();
            StreamPair.await(
                    () ->
                            pair.serverSide.events.contains(
                                    ChannelInputShutdownReadComplete.INSTANCE));
            byte[] all = Arrays.copyOf(bytes, bytes.length + 4);
            all[bytes.length + 3] = 1;
            assertThat(pair.serverSide.bytes()).isEqualTo(all);
            assertThat(done.indexOf(written)).isLessThan(done.indexOf(shutdown));
            pair.server.writeAndFlush(Unpooled.copyInt(3)).sync();
            pair.clientSide.awaitBytes(new byte[] {0, 0, 0, 3});
        }
    }

    @Test
    void whatWasNotFlushedFailsWhenTheOutputEnds() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.ALLOW_HALF_CLOSURE, true),
                        server -> server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true))) {
            ChannelFuture unflushed = pair.client.write(Unpooled.copyInt(1));
            pair.client.shutdownOutput().sync();
            assertThat(unflushed.await().cause()).isInstanceOf(IOException.class);
            assertThat(pair.client.isActive()).isTrue();
        }
    }

    @Test
    void anEndOfTheOutputThatWaitsFailsWithTheChannel() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> {},
                        server -> server.childOption(ChannelOption.AUTO_READ, false))) {
            ChannelFuture written =
                    pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(3_000_000)));
            ChannelFuture shutdown = pair.client.shutdownOutput();
            pair.server.config().setOption(ChannelOption.SO_LINGER, 0);
            pair.server.close().sync();
            assertThat(written.await().cause()).isInstanceOf(IOException.class);
            assertThat(shutdown.await().cause()).isInstanceOf(ClosedChannelException.class);
            pair.clientSide.awaitClosed();
        }
    }

    /** SO_LINGER may change while the close waits. */
    @Test
    void anEndOfTheOutputThatWaitsFailsOnceWhenTheCloseIsCut() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            RdmaStreamChannel client = pair.client;
            ChannelFuture shutdown =
                    on(
                            client,
                            () -> {
                                client.writeAndFlush(Unpooled.copyInt(1));
                                ChannelFuture waiting = client.shutdownOutput();
                                client.close();
                                assertThat(client.isClosing()).isTrue();
                                client.config().setSoLinger(0);
                                assertThat(waiting.isDone()).isFalse();
                                return waiting;
                            });
            assertThat(shutdown.await().cause()).isInstanceOf(ClosedChannelException.class);
            pair.clientSide.awaitClosed();
            on(client, () -> null);
            assertThat(pair.clientSide.errors).isEmpty();
        }
    }

    @Test
    void withoutHalfClosureTheEndOfInputClosesTheChannel() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            pair.client.shutdownOutput().sync();
            pair.serverSide.awaitClosed();
            pair.clientSide.awaitClosed();
            assertThat(pair.serverSide.errors).isEmpty();
            assertThat(pair.clientSide.errors).isEmpty();
        }
    }

    @Test
    void anInputThatIsShutDownForgetsWhatComes() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            pair.server.shutdownInput().sync();
            assertThat(pair.server.isInputShutdown()).isTrue();
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(500_000))).sync();
            pair.client.close().sync();
            pair.serverSide.awaitClosed();
            assertThat(pair.serverSide.size()).isZero();
        }
    }

    @Test
    void lingerZeroBreaksTheConnection() throws Exception {
        try (StreamPair pair =
                new StreamPair(client -> client.option(ChannelOption.SO_LINGER, 0), server -> {})) {
            pair.client.close().sync();
            pair.serverSide.awaitClosed();
            assertThat(pair.serverSide.errors)
                    .singleElement()
                    .isInstanceOf(IOException.class)
                    .extracting(Throwable::getMessage)
                    .asString()
                    .startsWith("connection reset");
        }
    }

    @Test
    void bothEndsMayCloseAtOnce() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (StreamPair pair = new StreamPair()) {
                pair.client.writeAndFlush(Unpooled.copiedBuffer(random(10)));
                ChannelFuture close = pair.client.close();
                pair.server.close().sync();
                close.sync();
                assertThat(pair.clientSide.errors).isEmpty();
                assertThat(pair.serverSide.errors).isEmpty();
            }
        }
    }

    /** Over iWARP an acceptor may not speak first; it closes in an orderly way all the same. */
    @Test
    void anAcceptorThatClosesAtOnceSaysSo() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (StreamPair pair =
                    new StreamPair(client -> {}, RdmaStreamChannelTest::closesAtOnce)) {
                pair.clientSide.awaitClosed();
                assertThat(pair.clientSide.errors).isEmpty();
            }
        }
    }

    private static void closesAtOnce(ServerBootstrap server) {
        server.handler(
                new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object child) {
                        ((Channel) child).pipeline().addLast(new ClosingAtOnce());
                        ctx.fireChannelRead(child);
                    }
                });
    }

    private static final class ClosingAtOnce extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ctx.fireChannelActive();
            ctx.close();
        }
    }

    /** As over TCP: the end of both directions is first the end of the input. */
    @Test
    void aPeerThatClosesEndsTheInputFirst() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.ALLOW_HALF_CLOSURE, true),
                        server -> {})) {
            pair.server.close().sync();
            pair.clientSide.awaitClosed();
            assertThat(pair.clientSide.events)
                    .contains(
                            ChannelInputShutdownEvent.INSTANCE,
                            ChannelInputShutdownReadComplete.INSTANCE);
            assertThat(pair.clientSide.errors).isEmpty();
        }
    }

    @Test
    void aWriteToAPeerThatIsGoneFailsAlsoWhileBytesWait() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.AUTO_READ, false),
                        server -> server.childOption(ChannelOption.SO_LINGER, 0))) {
            // The acceptor may speak once it was spoken to.
            pair.client.writeAndFlush(Unpooled.copyInt(1)).sync();
            pair.server.writeAndFlush(Unpooled.copyInt(7)).sync();
            pair.server.close().sync();
            ChannelFuture write;
            do {
                write = pair.client.writeAndFlush(Unpooled.copyInt(2));
                assertThat(write.await(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            } while (write.isSuccess());
            assertThat(write.cause()).isInstanceOf(ClosedChannelException.class);
            assertThat(pair.client.isOpen()).isTrue();
            pair.client.read();
            pair.clientSide.awaitBytes(new byte[] {0, 0, 0, 7});
            pair.clientSide.awaitClosed();
        }
    }

    @Test
    void anOutputOfABrokenConnectionCannotBeShutDownWhileBytesWait() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.AUTO_READ, false),
                        server -> server.childOption(ChannelOption.SO_LINGER, 0))) {
            haveSevenWait(pair);
            pair.server.close().sync();
            StreamPair.await(() -> on(pair.client, pair.client::isDisconnected));
            assertFailsBeforeTheInputIsRead(pair, pair.client.shutdownOutput());
        }
    }

    @Test
    void anEndOfTheOutputThatWaitsFailsWithTheConnectionWhileBytesWait() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.AUTO_READ, false),
                        server ->
                                server.childOption(ChannelOption.AUTO_READ, false)
                                        .childOption(ChannelOption.SO_LINGER, 0))) {
            haveSevenWait(pair);
            ChannelFuture written =
                    pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(3_000_000)));
            ChannelFuture shutdown = pair.client.shutdownOutput();
            pair.server.close().sync();
            assertThat(written.await().cause()).isInstanceOf(ClosedChannelException.class);
            assertFailsBeforeTheInputIsRead(pair, shutdown);
        }
    }

    /** The client has got bytes that it does not read. The acceptor may speak once it was spoken to. */
    private static void haveSevenWait(StreamPair pair) throws Exception {
        pair.client.writeAndFlush(Unpooled.copyInt(1)).sync();
        pair.server.writeAndFlush(Unpooled.copyInt(7)).sync();
        StreamPair.await(() -> on(pair.client, () -> pair.client.dataPath().hasInbound()));
    }

    private static void assertFailsBeforeTheInputIsRead(StreamPair pair, ChannelFuture shutdown)
            throws Exception {
        assertThat(shutdown.await(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(shutdown.cause()).isInstanceOf(ClosedChannelException.class);
        assertThat(pair.client.isOpen()).isTrue();
        pair.client.read();
        pair.clientSide.awaitBytes(new byte[] {0, 0, 0, 7});
        pair.clientSide.awaitClosed();
        assertThat(pair.clientSide.errors)
                .singleElement()
                .extracting(Throwable::getMessage)
                .asString()
                .startsWith("connection reset");
    }

    @Test
    void whoHearsOfAWriteMayBreakTheConnection() throws Exception {
        try (StreamPair pair =
                new StreamPair(client -> client.option(ChannelOption.SO_LINGER, 0), server -> {})) {
            pair.client
                    .writeAndFlush(Unpooled.copyInt(1))
                    .addListener(write -> pair.client.close());
            pair.clientSide.awaitClosed();
            assertThat(pair.clientSide.errors).isEmpty();
        }
    }

    @Test
    void methodsOfTheEventLoopSaySoElsewhere() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            assertThatThrownBy(() -> pair.client.registeredBuffer(1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Thread.currentThread().getName())
                    .hasMessageContaining("eventLoop()");
        }
    }

    @Test
    void memoryIsBackWhenTheConnectionIsOver() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            Collector server = pair.serverSide;
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(1_000_000))).sync();
            pair.client.close().sync();
            server.awaitClosed();
            RdmaEventLoop clientLoop = (RdmaEventLoop) pair.client.eventLoop();
            RdmaEventLoop serverLoop = (RdmaEventLoop) pair.server.eventLoop();
            assertThat(clientLoop.submit(() -> clientLoop.poller().pool.lentBytes()).get())
                    .isZero();
            assertThat(serverLoop.submit(() -> serverLoop.poller().pool.lentBytes()).get())
                    .isZero();
        }
    }
}
