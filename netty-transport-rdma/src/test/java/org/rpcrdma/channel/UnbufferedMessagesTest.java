// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.IllegalReferenceCountException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.internal.ChannelInternals;

/** Messages past the outbound buffer: their order, their outcome, and how they get into it. */
class UnbufferedMessagesTest {

    private static final int LOW = 500;
    private static final int HIGH = 1000;
    private static final int OVERHEAD = 96;

    /** What is writable, as each event has found it. */
    private final List<Boolean> writable = new ArrayList<>();

    /** What a handler does that is told. */
    private Runnable whenTold = () -> {};

    private UnbufferedMessages messages;
    private final EmbeddedChannel channel =
            new EmbeddedChannel(
                    whenWritabilityChanges(
                            ctx -> {
                                writable.add(messages.isWritable() && ctx.channel().isWritable());
                                whenTold.run();
                            }));
    private final ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();

    @BeforeEach
    void open() {
        channel.config().setWriteBufferWaterMark(new WriteBufferWaterMark(LOW, HIGH));
        messages = new UnbufferedMessages(channel);
        messages.open();
    }

    @AfterEach
    void end() {
        channel.close();
        channel.finishAndReleaseAll();
    }

    /** A client with the water marks of this test, and more options. */
    private static ConnectedPair connect(Consumer<Bootstrap> options) throws Exception {
        WriteBufferWaterMark marks = new WriteBufferWaterMark(LOW, HIGH);
        return new ConnectedPair(
                options.andThen(
                        client -> client.option(ChannelOption.WRITE_BUFFER_WATER_MARK, marks)),
                server -> {});
    }

    private ByteBuf add(ChannelPromise promise, int length) {
        ByteBuf message = Unpooled.wrappedBuffer(new byte[length]);
        assertThat(messages.tryAdd(message, length, HIGH, promise)).isTrue();
        return message;
    }

    private List<Object> spilled() {
        messages.spill();
        return flushed();
    }

    private List<Object> flushed() {
        List<Object> all = new ArrayList<>();
        while (outbound.current() != null) {
            all.add(outbound.current());
            outbound.remove();
        }
        return all;
    }

    @Test
    void messagesCompleteInOrder() {
        List<ByteBuf> added = new ArrayList<>();
        List<ChannelPromise> promises = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            // The ring grows while its oldest message is not in its first slot.
            promises.add(channel.newPromise());
            added.add(add(promises.get(i), 1));
            messages.flush();
            assertThat(messages.next()).isSameAs(added.get(i));
            if (i % 3 == 0) {
                ByteBuf oldest = added.get(i / 3);
                assertThat(messages.tryComplete(Unpooled.EMPTY_BUFFER)).isFalse();
                assertThat(messages.tryComplete(oldest)).isTrue();
                assertThat(oldest.refCnt()).isZero();
                assertThat(promises.get(i / 3).isSuccess()).isTrue();
            }
        }
        assertThat(spilled()).hasSize(26).containsExactlyElementsOf(added.subList(14, 40));
        assertThat(promises).allMatch(ChannelPromise::isSuccess);
        assertThat(messages.isEmpty()).isTrue();
    }

    /** Netty's outbound buffer takes nothing, and nothing is lost: neither a message nor a bit of its writability. */
    @Test
    void withoutHeapMessagesStayUntilTheyCanBeMoved() {
        boolean[] isExhausted = {true};
        ByteBuf late =
                new UnpooledHeapByteBuf(UnpooledByteBufAllocator.DEFAULT, 8, 8) {
                    @Override
                    public int readableBytes() {
                        if (isExhausted[0]) {
                            throw new OutOfMemoryError("no heap, simulated");
                        }
                        return super.readableBytes();
                    }
                };
        late.writeLong(1);
        ByteBuf first = add(channel.newPromise(), 1);
        assertThat(messages.tryAdd(late, 8, HIGH, channel.newPromise())).isTrue();
        assertThatThrownBy(messages::spill).isInstanceOf(OutOfMemoryError.class);
        assertThat(messages.isEmpty()).isFalse();
        assertThat(outbound.isWritable()).isTrue();
        isExhausted[0] = false;
        messages.spill();
        outbound.addFlush();
        assertThat(flushed()).containsExactly(first, late);
    }

    @Test
    void whatCannotBeMovedFailsInTheEnd() {
        ChannelPromise promise = channel.newPromise();
        ByteBuf message = add(promise, 1);
        messages.clear();
        assertThat(message.refCnt()).isZero();
        assertThat(promise.cause()).isInstanceOf(ClosedChannelException.class);
        assertThat(messages.isEmpty()).isTrue();
    }

    @Test
    void whatIsNotFlushedStaysSo() {
        ByteBuf posted = add(channel.newPromise(), 1);
        messages.flush();
        assertThat(messages.next()).isSameAs(posted);
        ByteBuf flushed = add(channel.newPromise(), 1);
        messages.flush();
        add(channel.newPromise(), 1);
        assertThat(messages.hasNext()).isTrue();
        messages.spill();
        assertThat(outbound.size()).isEqualTo(2);
        assertThat(outbound.totalPendingWriteBytes()).isEqualTo(3 * (1 + OVERHEAD));
        assertThat(outbound.current()).isSameAs(posted);
        outbound.remove();
        assertThat(outbound.current()).isSameAs(flushed);
        outbound.addFlush();
    }

    @Test
    void onlyOneOfTheTwoHasMessages() {
        outbound.addMessage(Unpooled.wrappedBuffer(new byte[1]), 1, channel.newPromise());
        ByteBuf message = Unpooled.wrappedBuffer(new byte[1]);
        assertThat(messages.tryAdd(message, 1, HIGH, channel.newPromise())).isFalse();
        outbound.addFlush();
        outbound.remove();
        assertThat(messages.tryAdd(message, 1, HIGH, channel.newPromise())).isTrue();
        messages.close();
        assertThat(outbound.totalPendingWriteBytes()).isEqualTo(1 + OVERHEAD);
        outbound.addFlush();
        outbound.remove();
        assertThat(message.refCnt()).isZero();
        ByteBuf late = Unpooled.wrappedBuffer(new byte[1]);
        assertThat(messages.tryAdd(late, 1, HIGH, channel.newPromise())).isFalse();
        late.release();
    }

    @Test
    void aWriteCountsTheBytesOfItsContent() {
        RdmaWrite write = new RdmaWrite(Unpooled.wrappedBuffer(new byte[100]), 1, 0);
        assertThat(messages.tryAdd(write, 100, HIGH, channel.newPromise())).isTrue();
        assertThat(messages.pending).isEqualTo(100 + OVERHEAD);
        messages.spill();
        assertThat(outbound.totalPendingWriteBytes()).isEqualTo(100 + OVERHEAD);
        outbound.addFlush();
        assertThat(flushed()).containsExactly(write);
        assertThat(write.refCnt()).isZero();
    }

    /** All Writes before a Send are visible when the Send has arrived (RFC 8166, 2.3.2). */
    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 70_001})
    void aWriteGoesBeforeTheSendThatFollowsIt(int length) throws Exception {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        try (ConnectedPair pair = new ConnectedPair()) {
            RdmaChannel server = pair.server;
            ByteBuf target = on(server, () -> server.registeredBuffer(length).writeZero(length));
            int handle = on(server, () -> server.expose(target, 0, length, RemoteAccess.WRITE));
            long offset = on(server, () -> server.exposedOffset(handle));
            RdmaChannel client = pair.client;
            List<ChannelPromise> sent = List.of(client.newPromise(), client.newPromise());
            on(
                    client,
                    () -> {
                        ByteBuf data = client.registeredBuffer(length).writeBytes(bytes);
                        ByteBuf announcement = client.registeredBuffer(1).writeByte(7);
                        ChannelInternals internals = ChannelInternals.of(client);
                        RdmaWrite write = new RdmaWrite(data, handle, offset);
                        assertThat(internals.tryWrite(write, sent.get(0))).isTrue();
                        assertThat(internals.tryWrite(announcement, sent.get(1))).isTrue();
                        assertThat(client.unsafe().outboundBuffer().totalPendingWriteBytes())
                                .isZero();
                        return client.flush();
                    });
            assertThat(pair.serverInbox.takeBytes()).containsExactly(7);
            byte[] placed = new byte[length];
            target.getBytes(0, placed);
            assertThat(placed).isEqualTo(bytes);
            for (ChannelPromise promise : sent) {
                assertThat(promise.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(promise.isSuccess()).isTrue();
            }
            on(
                    server,
                    () -> {
                        server.invalidate(handle);
                        return target.release();
                    });
        }
    }

    /** They are copied, or complete without work: the usual way does both. */
    @Test
    void aWriteThatTheDeviceCannotTakeAsItIsGoesTheUsualWay() throws Exception {
        int length = 64 << 10;
        try (ConnectedPair pair = new ConnectedPair()) {
            List<ByteBuf> contents =
                    List.of(
                            Unpooled.EMPTY_BUFFER,
                            Unpooled.buffer(length).writeZero(length),
                            Unpooled.directBuffer(1).writeZero(1),
                            Unpooled.directBuffer(length).writeZero(length).asReadOnly(),
                            Unpooled.wrappedBuffer(
                                    Unpooled.directBuffer(length).writeZero(length),
                                    Unpooled.directBuffer(length).writeZero(length)));
            for (ByteBuf content : contents) {
                RdmaWrite write = new RdmaWrite(content, 1, 0);
                assertThat(tryWrite(pair.client, write)).isFalse();
                write.release();
            }
            ByteBuf direct = Unpooled.directBuffer(length).writeZero(length);
            boolean isCheap = pair.client.poller().context().capabilities().cheapRegistration();
            RdmaWrite write = new RdmaWrite(direct, 1, 0);
            assertThat(tryWrite(pair.client, write)).isEqualTo(isCheap);
            if (!isCheap) {
                write.release();
            }
        }
    }

    /** They are worth no registration, and need not go the usual way. */
    @Test
    void fewBytesThatTheDeviceCannotTakeAreCopiedBeforeTheyAreWritten() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf memory = Unpooled.buffer().writeLong(1).writeLong(2).writeLong(3);
            ByteBuf part = sendablePart(pair.client, memory, 8, 8);
            assertThat(part.readableBytes()).isEqualTo(8);
            assertThat(part.getLong(part.readerIndex())).isEqualTo(2);
            assertThat(memory.refCnt()).isEqualTo(1);
            memory.release();
            assertThat(tryWrite(pair.client, new RdmaWrite(part, 1, 0))).isTrue();
        }
    }

    @Test
    void bytesThatTheDeviceCanTakeAndManyBytesAreNotCopiedBeforeTheyAreWritten() throws Exception {
        int many = 16 << 10;
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf own = on(pair.client, () -> pair.client.registeredBuffer(100)).writeZero(100);
            ByteBuf heap = Unpooled.buffer(many).writeZero(many);
            ByteBuf direct = Unpooled.directBuffer(many).writeZero(many);
            for (ByteBuf memory : List.of(own, heap, direct)) {
                int last = memory.writerIndex() - 1;
                ByteBuf part = sendablePart(pair.client, memory, 0, memory.readableBytes());
                memory.setByte(last, 7);
                assertThat(part.getByte(last)).isEqualTo((byte) 7);
                assertThat(memory.refCnt()).isEqualTo(2);
                part.release();
                memory.release();
            }
        }
    }

    private static ByteBuf sendablePart(RdmaChannel channel, ByteBuf memory, int index, int length)
            throws Exception {
        return on(channel, () -> ChannelInternals.of(channel).sendablePart(memory, index, length));
    }

    private static boolean tryWrite(RdmaChannel channel, RdmaWrite write) throws Exception {
        return on(
                channel, () -> ChannelInternals.of(channel).tryWrite(write, channel.newPromise()));
    }

    /** A holder whose content is gone is its user's mistake, and no other message's. */
    @Test
    void aMessageThatWasReleasedFailsAlone() {
        ByteBuf content = Unpooled.wrappedBuffer(new byte[8]);
        ChannelPromise lost = channel.newPromise();
        ByteBuf before = add(channel.newPromise(), 1);
        assertThat(messages.tryAdd(new RdmaWrite(content, 1, 0), 8, HIGH, lost)).isTrue();
        ByteBuf behind = add(channel.newPromise(), 1);
        messages.flush();
        content.release();
        assertThat(spilled()).containsExactly(before, behind);
        assertThat(lost.cause()).isInstanceOf(IllegalReferenceCountException.class);
        assertThat(messages.pending).isZero();
    }

    /**
     * A batch that is posted in part cannot be revoked: the connection ends, and nothing of it goes out.
     *
     * @param isReleased whether somebody has released the data; otherwise they cannot be registered
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @NeedsDevice("cheapRegistration")
    void aWriteThatCannotBePostedEndsTheConnection(boolean isReleased) throws Exception {
        int length = 64 << 10;
        boolean[] isExhausted = {false};
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf data =
                    new UnpooledDirectByteBuf(UnpooledByteBufAllocator.DEFAULT, length, length) {
                        @Override
                        public ByteBuffer nioBuffer(int index, int bytes) {
                            if (isExhausted[0]) {
                                throw new OutOfMemoryError("no heap, simulated");
                            }
                            return super.nioBuffer(index, bytes);
                        }
                    };
            data.writeZero(length);
            RdmaChannel client = pair.client;
            List<ChannelPromise> sent = new ArrayList<>();
            on(
                    client,
                    () -> {
                        ChannelInternals internals = ChannelInternals.of(client);
                        for (int i = 0; i < 3; i++) {
                            sent.add(client.newPromise());
                            Object message =
                                    i == 1
                                            ? new RdmaWrite(data, 1, 0)
                                            : client.registeredBuffer(1).writeByte(i);
                            assertThat(internals.tryWrite(message, sent.get(i))).isTrue();
                        }
                        isExhausted[0] = true;
                        if (isReleased) {
                            data.release();
                        }
                        return client.flush();
                    });
            assertThat(client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            for (ChannelPromise promise : sent) {
                assertThat(promise.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(promise.cause()).isNotNull();
            }
            assertThat(data.refCnt()).isZero();
            assertThat(pair.serverInbox.inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isNotNull();
            assertThat(pair.serverInbox.messages).isEmpty();
        }
    }

    @Test
    void aCancelledWriteIsLeftToNetty() {
        ChannelPromise cancelled = channel.newPromise();
        ByteBuf message = add(cancelled, 1);
        cancelled.cancel(false);
        messages.flush();
        assertThat(messages.hasNext()).isTrue();
        assertThat(messages.next()).isNull();
        assertThat(spilled()).containsExactly(Unpooled.EMPTY_BUFFER);
        assertThat(message.refCnt()).isZero();
    }

    @Test
    void waterMarksAreKept() {
        ByteBuf first = add(channel.newPromise(), HIGH - OVERHEAD);
        assertThat(writable).isEmpty();
        assertThat(messages.bytesBeforeUnwritable(HIGH + 1)).isEqualTo(1);
        assertThat(messages.bytesBeforeWritable(0)).isZero();
        ByteBuf second = add(channel.newPromise(), LOW - OVERHEAD);
        assertThat(writable).containsExactly(false);
        assertThat(messages.bytesBeforeUnwritable(HIGH + 1)).isZero();
        assertThat(messages.bytesBeforeWritable(0)).isEqualTo(HIGH + 1);
        messages.flush();
        messages.next();
        messages.next();
        messages.tryComplete(first);
        assertThat(writable).containsExactly(false); // it is at the low water mark, not below
        ByteBuf third = add(channel.newPromise(), 1);
        messages.flush();
        messages.next();
        messages.tryComplete(second);
        assertThat(writable).containsExactly(false, true);
        messages.tryComplete(third);
        assertThat(writable).containsExactly(false, true);
    }

    @Test
    void aFullQueueThatSpillsLeavesTheWaterMarksToNetty() {
        ByteBuf first = add(channel.newPromise(), HIGH - OVERHEAD);
        add(channel.newPromise(), LOW - OVERHEAD);
        messages.flush();
        messages.next();
        messages.tryComplete(first);
        assertThat(messages.isWritable()).isFalse();
        messages.spill(); // as many bytes as Netty's buffer has been writable with
        channel.runPendingTasks();
        assertThat(writable).containsExactly(false, true, true);
        messages.spill();
        outbound.addFlush();
        outbound.remove();
        add(channel.newPromise(), HIGH);
        messages.spill();
        channel.runPendingTasks();
        assertThat(messages.isWritable()).isTrue();
        assertThat(channel.isWritable()).isFalse();
        outbound.addFlush();
        outbound.remove();
        assertThat(writable).last().isEqualTo(true);
    }

    /** Who is told may write, flush and close: within a spill that would be in front of what is still to be moved. */
    @Test
    void nobodyIsToldWithinASpill() {
        ChannelPromise cancelled = channel.newPromise();
        add(cancelled, HIGH);
        messages.flush();
        cancelled.cancel(false);
        ByteBuf next = add(channel.newPromise(), HIGH);
        assertThat(writable).containsExactly(false);
        List<Object> events = new ArrayList<>();
        whenTold = () -> events.add(outbound.totalPendingWriteBytes());
        messages.spill();
        assertThat(events).isEmpty();
        assertThat(messages.isEmpty()).isTrue();
        channel.runPendingTasks();
        channel.checkException();
        assertThat(events).hasSize(1).containsOnly((long) HIGH + OVERHEAD);
        assertThat(writable).containsExactly(false, false);
        outbound.addFlush();
        assertThat(outbound.current()).isSameAs(Unpooled.EMPTY_BUFFER);
        outbound.remove();
        assertThat(outbound.current()).isSameAs(next);
        outbound.remove();
        assertThat(writable).containsExactly(false, false, true);
    }

    /** The outbound buffer does away with cancelled messages, and has room then. */
    @Test
    void whoIsToldAfterASpillFindsWhatTheOutboundBufferSays() {
        ChannelPromise cancelled = channel.newPromise();
        add(cancelled, HIGH);
        messages.flush();
        cancelled.cancel(false);
        assertThat(writable).containsExactly(false);
        messages.spill();
        channel.runPendingTasks();
        assertThat(messages.isWritable()).isTrue();
        assertThat(writable).containsExactly(false, true, true);
    }

    /** A user's own bit is not touched, and nobody is told of anything while it says no. */
    @Test
    void aUsersOwnWritabilityStays() {
        outbound.setUserDefinedWritability(31, false);
        channel.runPendingTasks();
        add(channel.newPromise(), HIGH);
        assertThat(writable).containsExactly(false, false);
        messages.spill();
        channel.runPendingTasks();
        assertThat(outbound.getUserDefinedWritability(31)).isFalse();
        assertThat(writable).containsExactly(false, false);
    }

    @Test
    void nobodyIsToldWithinAClose() {
        ByteBuf first = add(channel.newPromise(), HIGH - OVERHEAD);
        add(channel.newPromise(), LOW - OVERHEAD);
        messages.flush();
        messages.next();
        messages.tryComplete(first);
        messages.close();
        assertThat(writable).containsExactly(false);
    }

    /** A cancelled write leaves room in the outbound buffer; nobody else continues what went past it. */
    @Test
    void messagesBehindACancelledWriteAllGoOut() throws Exception {
        try (ConnectedPair pair =
                connect(client -> client.option(RdmaChannelOption.SEND_DEPTH, 2))) {
            List<ChannelPromise> sent = new ArrayList<>();
            on(pair.client, () -> flushACancelledWriteThenSends(pair.client, sent));
            for (ChannelPromise promise : sent) {
                assertThat(promise.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(promise.isSuccess()).isTrue();
            }
            assertThat(sent).hasSize(7);
        }
    }

    private static boolean flushACancelledWriteThenSends(
            RdmaChannel client, List<ChannelPromise> sent) {
        ChannelFuture cancelled = client.write(Unpooled.wrappedBuffer(new byte[HIGH + 1]));
        assertThat(cancelled.cancel(false)).isTrue();
        client.pipeline()
                .addLast(
                        whenWritabilityChanges(
                                ctx -> {
                                    for (int i = 0; i < 7; i++) {
                                        ByteBuf one = client.registeredBuffer(1).writeZero(1);
                                        sent.add(client.newPromise());
                                        assertThat(
                                                        ChannelInternals.of(client)
                                                                .tryWrite(one, sent.get(i)))
                                                .isTrue();
                                    }
                                    ctx.pipeline().remove(ctx.handler());
                                }));
        client.flush();
        return sent.size() == 7;
    }

    /** Another thread's write, which waits for the event loop, counts in the outbound buffer. */
    @Test
    void nobodyIsToldWithinAWriteBesideThoseOfOtherThreads() throws Exception {
        try (ConnectedPair pair = connect(client -> {})) {
            assertThat(on(pair.client, () -> isToldWithinAWrite(pair.client))).isFalse();
        }
    }

    private static boolean isToldWithinAWrite(RdmaChannel client) throws InterruptedException {
        boolean[] isTold = {false};
        client.pipeline()
                .addLast(
                        whenWritabilityChanges(
                                ctx -> {
                                    isTold[0] = true;
                                }));
        int length = HIGH - OVERHEAD;
        ByteBuf almostFull = client.registeredBuffer(length).writeZero(length);
        assertThat(ChannelInternals.of(client).tryWrite(almostFull, client.newPromise())).isTrue();
        Thread other = new Thread(() -> client.write(Unpooled.wrappedBuffer(new byte[1])));
        other.start();
        other.join();
        client.write(Unpooled.EMPTY_BUFFER);
        return isTold[0];
    }

    /** Who is told of room that cancelled writes have left may flush, write and flush again. */
    @Test
    void messagesOfAHandlerThatFlushesGoOutOnce() throws Exception {
        try (ConnectedPair pair = connect(client -> {})) {
            RdmaChannel client = pair.client;
            ByteBuf last = on(client, () -> client.registeredBuffer(1).writeByte(3));
            List<ChannelPromise> sent = new ArrayList<>();
            on(client, () -> cancelAllThenFlush(client, sent));
            ChannelFuture end = on(client, () -> client.writeAndFlush(last));
            assertThat(end.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(end.isSuccess()).isTrue();
            for (ChannelPromise promise : sent) {
                assertThat(promise.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(promise.isSuccess()).isTrue();
            }
            assertThat(sent).hasSize(2);
            for (int expected = 1; expected <= 3; expected++) {
                assertThat(pair.serverInbox.takeBytes()).containsExactly(expected);
            }
        }
    }

    private static boolean cancelAllThenFlush(RdmaChannel client, List<ChannelPromise> sent) {
        List<ChannelPromise> cancelled = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            ByteBuf message = client.registeredBuffer(HIGH).writeZero(HIGH);
            cancelled.add(client.newPromise());
            assertThat(ChannelInternals.of(client).tryWrite(message, cancelled.get(i))).isTrue();
        }
        cancelled.forEach(promise -> promise.cancel(false));
        client.pipeline()
                .addLast(
                        whenWritabilityChanges(
                                ctx -> {
                                    if (!client.isWritable()) {
                                        return;
                                    }
                                    ctx.pipeline().remove(ctx.handler());
                                    client.flush();
                                    for (int i = 1; i <= 2; i++) {
                                        ByteBuf one = client.registeredBuffer(1).writeByte(i);
                                        ChannelPromise promise = client.newPromise();
                                        sent.add(promise);
                                        assertThat(
                                                        ChannelInternals.of(client)
                                                                .tryWrite(one, promise))
                                                .isTrue();
                                    }
                                    client.flush();
                                }));
        client.flush();
        return true;
    }

    @Test
    void aWriteBehindASpillThatHasTheChannelClosedFails() throws Exception {
        try (ConnectedPair pair = connect(client -> {})) {
            RdmaChannel client = pair.client;
            ByteBuf late = Unpooled.wrappedBuffer(new byte[1]);
            ChannelFuture write = on(client, () -> writeToOneThatCloses(client, late));
            assertThat(write.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(write.cause()).isInstanceOf(ClosedChannelException.class);
            assertThat(late.refCnt()).isZero();
        }
    }

    private static ChannelFuture writeToOneThatCloses(RdmaChannel client, ByteBuf late) {
        ByteBuf full = client.registeredBuffer(HIGH).writeZero(HIGH);
        assertThat(ChannelInternals.of(client).tryWrite(full, client.newPromise())).isTrue();
        client.pipeline()
                .addLast(
                        whenWritabilityChanges(
                                ctx -> {
                                    ctx.close();
                                }));
        return client.write(late);
    }

    private static ChannelHandler whenWritabilityChanges(Consumer<ChannelHandlerContext> action) {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelWritabilityChanged(ChannelHandlerContext ctx) {
                action.accept(ctx);
            }
        };
    }
}
