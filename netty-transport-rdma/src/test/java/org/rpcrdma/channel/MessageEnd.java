// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * One end of a simulated message channel. Each message has its number, and bytes that follow from it. Ends know each
 * other, so that none sends more messages than the other one has receives for.
 */
final class MessageEnd extends SimulatedEnd<MessageEnd> {

    /** Bytes of the longest message. */
    static final int MOST_BYTES = 1024;

    /** No message arrives for a write with this number. */
    private static final int NONE = -1;

    /** So deep handlers act within what they are told of. */
    private static final int MOST_NESTED = 3;

    /** A write, in the order of all. */
    private static final class Written {

        final ChannelPromise promise;
        final int number;

        /** Of an RDMA Write. */
        final MessageEndMemory.Write placed;

        /** Whether the channel has not taken it, and others behind it nevertheless: its host has no memory. */
        boolean isRefused;

        Written(ChannelPromise promise, int number, MessageEndMemory.Write placed) {
            this.promise = promise;
            this.number = number;
            this.placed = placed;
        }
    }

    private final RdmaChannel channel;
    private final Random random;
    private final int window;
    private final int base;
    private final boolean hasMemory;

    /** Writes that have not ended, and those behind them. */
    private final Deque<Written> open = new ArrayDeque<>();

    /** Numbers of messages whose writes were cancelled, and those which arrived here. */
    private final BitSet cancelled = new BitSet();

    private final BitSet arrived = new BitSet();

    /** {@code null} when the channel is not active, or the peer does without. */
    private MessageEndMemory memory;

    private int nextNumber;
    private int writes;
    private int flushedWrites;
    private int endedWrites;
    private int nested;
    private boolean isFlushing;
    private boolean isResting;
    private boolean isFinished;

    /** Whether all goes past the outbound buffer, so that many messages are there. */
    private final boolean isUnbuffered;

    private boolean isClosed;
    private boolean isToldOfRoom = true;
    private Throwable failure;

    MessageEnd(
            RdmaChannel channel,
            String name,
            SimulatedNetwork network,
            Random random,
            int receiveDepth,
            boolean hasMemory) {
        super(channel, name, network);
        this.channel = channel;
        this.random = random;
        window = receiveDepth - receiveDepth / 8;
        this.hasMemory = hasMemory;
        base = random.nextInt(1 << 20) << 10;
        isUnbuffered = random.nextInt(3) == 0;
    }

    // ------------------------------------------------------------------ what it does

    private void execute(Runnable action) {
        try {
            channel.eventLoop().execute(action);
        } catch (RejectedExecutionException e) {
            throw new AssertionError("an event loop has ended", e);
        }
    }

    /** Does so many things in one task. */
    void act(int actions) {
        execute(() -> tryAct(actions));
    }

    private void tryAct(int actions) {
        try {
            for (int i = 0; i < actions; i++) {
                act();
            }
        } catch (RuntimeException | Error e) {
            wrong = "fails by " + e; // Netty logs it, and goes on
        }
    }

    private void act() {
        if (isResting) {
            return;
        }
        if (hasMemory && random.nextInt(4) == 0) {
            actOnMemory();
            return;
        }
        int way = isUnbuffered && random.nextInt(10) != 0 ? 4 : 0;
        switch (way + random.nextInt(16)) {
            case 0 -> write(Unpooled.EMPTY_BUFFER);
            case 1 -> write(new RdmaWrite(Unpooled.EMPTY_BUFFER, 0, 0));
            case 2, 3 -> send(false);
            case 4, 5 -> cancel();
            case 6, 7, 8 -> flush();
            case 9 -> flushCancelled();
            default -> send(true);
        }
    }

    private void actOnMemory() {
        if (memory == null || peer == null || peer.memory == null) {
            return;
        }
        switch (random.nextInt(5)) {
            case 0 -> memory.offer();
            case 1, 2 -> sendWithInvalidate();
            case 3 -> read();
            default -> place();
        }
    }

    /** Some messages of which none is to be sent. */
    private void flushCancelled() {
        for (int i = random.nextInt(3); i >= 0; i--) {
            send(true);
            List.copyOf(open).forEach(this::cancel);
        }
        flush();
    }

    /** A message for which the peer has a receive. */
    private void send(boolean isPastBuffer) {
        ByteBuf message = nextMessage(isPastBuffer);
        if (message == null) {
            return;
        }
        write(message, written(nextNumber++, null), isPastBuffer);
    }

    private void sendWithInvalidate() {
        boolean isPastBuffer = random.nextBoolean();
        ByteBuf message = peer.memory.offers() ? nextMessage(isPastBuffer) : null;
        if (message != null) {
            int number = nextNumber++;
            write(peer.memory.invalidating(message, number), written(number, null), isPastBuffer);
        }
    }

    /** {@code null} when there are as many in flight as the peer has receives, or there is no memory. */
    private ByteBuf nextMessage(boolean isRegistered) {
        int inFlight = nextNumber - cancelled.cardinality() - peer.arrived.cardinality();
        if (inFlight >= window) {
            return null;
        }
        int length = Integer.BYTES + random.nextInt(random.nextInt(MOST_BYTES) + 1);
        length = Math.min(length, MOST_BYTES);
        ByteBuf message = isRegistered ? registered(length) : Unpooled.buffer(length);
        if (message != null) {
            int number = base + nextNumber;
            message.writeInt(number);
            while (message.readableBytes() < length) {
                message.writeByte(at(number, message.readableBytes()));
            }
        }
        return message;
    }

    /** {@code null} when the host has no memory. */
    private ByteBuf registered(int length) {
        try {
            return channel.registeredBuffer(length);
        } catch (IllegalStateException | OutOfMemoryError e) {
            network.note(this + " has no memory: " + e);
            return null;
        }
    }

    /** An RDMA Read. */
    private void read() {
        int length = 1 + random.nextInt(random.nextInt(MOST_BYTES) + 1);
        int position = MessageEndMemory.position(random, length);
        ByteBuf sink = registered(length);
        if (sink == null) {
            return;
        }
        sink.writeZero(length);
        Written one = written(NONE, null);
        one.promise.addListener(
                ended -> {
                    if (ended.isSuccess() && !MessageEndMemory.isRead(sink, position)) {
                        wrong = "has read other bytes than there are";
                    }
                    sink.release();
                });
        write(peer.memory.read(sink.retain(), position), one);
    }

    /** An RDMA Write. */
    private void place() {
        boolean isPastBuffer = random.nextBoolean();
        ByteBuf empty = isPastBuffer ? registered(Long.BYTES) : Unpooled.buffer(Long.BYTES);
        if (empty != null) {
            MessageEndMemory.Write placed = peer.memory.nextWrite(nextNumber);
            write(peer.memory.work(placed, empty), written(NONE, placed), isPastBuffer);
        }
    }

    private static byte at(int number, int position) {
        return (byte) (number * 31 + position * 7);
    }

    private void write(Object message) {
        write(message, written(NONE, null));
    }

    /** Past Netty's outbound buffer, where the channel takes it so. */
    private void write(Object message, Written one, boolean isPastBuffer) {
        if (!isPastBuffer || !ChannelInternals.of(channel).tryWrite(message, one.promise)) {
            write(message, one);
        }
    }

    private Written written(int number, MessageEndMemory.Write placed) {
        Written one = new Written(channel.newPromise(), number, placed);
        writes++;
        open.add(one);
        one.promise.addListener(ended -> react());
        return one;
    }

    private void write(Object message, Written one) {
        channel.write(message, one.promise);
        if (one.promise.cause() != null && !one.promise.isCancelled() && channel.isOpen()) {
            one.isRefused = true;
            setCancelled(one, true);
            keepValid(one);
        }
    }

    /** Any of the last writes. */
    private void cancel() {
        if (!open.isEmpty()) {
            int behind = random.nextInt(Math.min(4, open.size()));
            open.stream().skip(open.size() - 1L - behind).findFirst().ifPresent(this::cancel);
        }
    }

    private void cancel(Written one) {
        boolean isOpen = !one.promise.isDone();
        if (isOpen) {
            setCancelled(one, true); // before anybody is told
        }
        if (!one.promise.cancel(false)) {
            if (isOpen) {
                setCancelled(one, false);
            }
        } else {
            keepValid(one);
        }
    }

    /** It invalidates nothing. */
    private void keepValid(Written one) {
        if (one.number != NONE && peer != null && peer.memory != null) {
            peer.memory.keepValid(one.number);
        }
    }

    private void setCancelled(Written one, boolean isCancelled) {
        if (one.number != NONE) {
            cancelled.set(one.number, isCancelled);
        } else if (one.placed != null) {
            one.placed.isCancelled = isCancelled;
        }
    }

    private void flush() {
        if (isFlushing) {
            return; // Netty counts messages twice when a handler flushes that a flush tells of room
        }
        isFlushing = true;
        flushedWrites = writes;
        channel.flush();
        isFlushing = false;
    }

    /** Handlers act where they are told of something, too. */
    private void react() {
        if (nested == MOST_NESTED || random.nextInt(4) != 0) {
            return;
        }
        nested++;
        tryAct(1 + random.nextInt(4));
        nested--;
    }

    /** Does nothing more, but reads. */
    void rest() {
        isResting = true;
        setReading(true);
    }

    @Override
    public void finish() {
        rest();
        execute(
                () -> {
                    flush();
                    execute(() -> isFinished = true); // whoever is told by a task has been
                });
    }

    @Override
    public void close() {
        network.note(this + " closes after " + nextNumber);
        isClosed = true;
        channel.close();
    }

    // ------------------------------------------------------------------ what has become of it

    @Override
    public boolean isSettled() {
        settle();
        return open.isEmpty() && isFinished;
    }

    /** Whether each write that was flushed has ended. */
    boolean isFlushedSent() {
        settle();
        return endedWrites >= flushedWrites;
    }

    @Override
    void settle() {
        while (!open.isEmpty() && open.peek().promise.isDone()) {
            Written one = open.poll();
            ChannelPromise promise = one.promise;
            endedWrites++;
            if (promise.isSuccess()) {
                if (failure != null && wrong == null) {
                    wrong = "is told that a message was sent behind one that was not";
                }
            } else if (!promise.isCancelled() && !one.isRefused) {
                failure = promise.cause();
            }
        }
    }

    @Override
    public boolean hasAll() {
        return arrived.cardinality() + peer.cancelled.cardinality() == peer.nextNumber
                && (memory == null || memory.hasAll())
                && isToldOfRoom
                && channel.isWritable()
                && room() == mostRoom();
    }

    private long room() {
        return channel.bytesBeforeUnwritable();
    }

    private long mostRoom() {
        return channel.config().getWriteBufferHighWaterMark() + 1L;
    }

    @Override
    public void checkPromises() {
        settle();
        if (failure != null || told != null) {
            throw new AssertionError(
                    "a write of " + this + " fails", failure == null ? told : failure);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf bytes = (ByteBuf) message;
        int number = bytes.readInt();
        for (int at = Integer.BYTES; bytes.isReadable(); at++) {
            if (bytes.readByte() != at(number, at)) {
                wrong = "reads another byte at " + at + " of message " + number;
                break;
            }
        }
        bytes.release();
        number -= peer.base;
        int first = arrived.length();
        if (number < first || number >= peer.nextNumber) {
            wrong = "reads message " + number + " behind " + (first - 1);
            return;
        }
        if (peer.cancelled.get(number)) {
            wrong = "reads message " + number + ", which was cancelled";
        }
        int missing = peer.cancelled.nextClearBit(first);
        if (missing < number) {
            wrong = "reads message " + number + " without " + missing;
        }
        arrived.set(number);
        String missed = memory == null ? null : memory.arrived(number);
        if (missed != null) {
            wrong = missed;
        }
        react();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        isToldOfRoom = channel.isWritable();
        react();
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        if (hasMemory) {
            memory = MessageEndMemory.of(channel);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        network.note(this + " is closed");
        if (memory != null) {
            memory.release();
            memory = null;
        }
    }

    @Override
    public String state() {
        return this
                + ": written "
                + nextNumber
                + ", cancelled "
                + cancelled.cardinality()
                + ", arrived "
                + arrived.cardinality()
                + ", writes "
                + writes
                + ", flushed "
                + flushedWrites
                + ", ended "
                + endedWrites
                + ", room for "
                + room()
                + " of "
                + mostRoom()
                + ", told of it: "
                + isToldOfRoom
                + ", closed: "
                + isClosed
                + ", told of: "
                + told;
    }
}
