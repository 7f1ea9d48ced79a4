// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.IllegalReferenceCountException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * One end of a simulated stream. The value of each byte follows from the connection, the direction and its position, so
 * that any can be checked alone, and bytes of another stream are seen.
 */
public final class StreamEnd extends SimulatedEnd<StreamEnd> {

    /** Half of what a close waits at most. */
    private static final long MOST_CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A promise and the positions of its bytes. */
    private record Promised(ChannelFuture promise, long start, long end) {}

    private final Channel channel;
    private final boolean isServer;

    /** Those that have not succeeded, in their order. */
    private final Deque<Promised> promises = new ArrayDeque<>();

    /** Those of its writes whose release counts. */
    private final List<ByteBuf> buffers = new ArrayList<>();

    private long written;
    private long flushed;
    private long received;

    /** Position behind the last byte whose promise, and all before it, have succeeded. */
    private long acknowledged;

    private int failed;
    private Throwable failure;
    private boolean isFinished;
    private boolean isClosed;
    private long closeNanos;
    private long endNanos;
    private boolean isAborted;
    private boolean hasSeenEnd;
    private boolean isDeceived;

    /** Of a channel that is to be added to its pipeline. */
    public StreamEnd(Channel channel, String name, SimulatedNetwork network) {
        super(channel, name, network);
        this.channel = channel;
        isServer = channel.parent() != null;
    }

    /** Names both ends of a connection to each other. */
    public void pair(StreamEnd other) {
        pair(this, other);
    }

    /** The other end lies: whatever comes of it is right, but for what it leaves behind. */
    public void deceived() {
        isDeceived = true;
    }

    /** {@return the last exception that its handler was told of} {@code null} for none. */
    public Throwable told() {
        return told;
    }

    /** {@return how many bytes it has read} */
    public long received() {
        return received;
    }

    /** {@return whether it was closed or aborted by its user} */
    public boolean isClosedHere() {
        return isClosed;
    }

    /** {@return the port of the end that has connected, which names the connection} 0 before there is one. */
    public int port() {
        Object address = isServer ? channel.remoteAddress() : channel.localAddress();
        return address == null ? 0 : ((InetSocketAddress) address).getPort();
    }

    /** {@return the other end} {@code null} before it is known. */
    public StreamEnd peer() {
        return peer;
    }

    /** {@return whether nothing that it wanted has failed} */
    public boolean isSuccess() {
        settle();
        return failed == 0;
    }

    /** {@return whether the other end is known} */
    public boolean isPaired() {
        return peer != null;
    }

    /** {@return whether bytes can be written} */
    public boolean isActive() {
        return channel.isActive() && !isFinished && !isClosed;
    }

    // ------------------------------------------------------------------ what it does

    /** Writes bytes, unless the output is shut down. */
    public void write(int length) {
        write(length, Unpooled::wrappedBuffer);
    }

    /** As {@link #write(int)}, of direct memory that the device has to register. */
    void writeDirect(int length) {
        write(length, bytes -> mine(Unpooled.directBuffer(bytes.length).writeBytes(bytes)));
    }

    /** As {@link #write(int)}, of registered memory, if there is some. */
    void writeRegistered(int length) {
        if (isFinished || isClosed) {
            return;
        }
        byte[] bytes = next(length);
        ChannelPromise promise = channel.newPromise();
        promises.add(new Promised(promise, written - length, written));
        channel.eventLoop().execute(() -> channel.write(registered(bytes), promise));
    }

    private ByteBuf registered(byte[] bytes) {
        try {
            ByteBuf memory = ((RdmaStreamChannel) channel).registeredBuffer(bytes.length);
            return mine(memory.writeBytes(bytes));
        } catch (IllegalStateException | OutOfMemoryError e) {
            network.note(this + " has no registered memory to write: " + e.getMessage());
            return Unpooled.wrappedBuffer(bytes);
        }
    }

    private ByteBuf mine(ByteBuf buffer) {
        buffers.add(buffer);
        return buffer;
    }

    /**
     * Checks that its channel is over with the memory of its writes.
     *
     * @throws AssertionError when it has some
     */
    void checkReleased() {
        long left = buffers.stream().filter(buffer -> buffer.refCnt() > 0).count();
        if (left > 0) {
            throw new AssertionError(this + " has " + left + " written buffers in the end");
        }
    }

    private void write(int length, Function<byte[], ByteBuf> memory) {
        if (isFinished || isClosed) {
            return;
        }
        byte[] bytes = next(length);
        promises.add(new Promised(channel.write(memory.apply(bytes)), written - length, written));
    }

    /** The next bytes, which count as written before they are: another thread may deliver them at once. */
    private byte[] next(int length) {
        byte[] bytes = new byte[length];
        int key = key(isServer);
        for (int i = 0; i < length; i++) {
            bytes[i] = at(written + i, key);
        }
        written += length;
        return bytes;
    }

    /** Of a direction of this connection. */
    private int key(boolean ofServer) {
        return port() * 13 + (ofServer ? 101 : 0);
    }

    private static byte at(long position, int key) {
        return (byte) (position * 31 + (position >> 8) * 7 + key);
    }

    /** Flushes what was written. */
    public void flush() {
        flushed = written;
        channel.flush();
    }

    /** Shuts the output down behind all that was written, and reads the rest of the input. */
    @Override
    public void finish() {
        setReading(true);
        if (!isFinished && !isClosed) {
            isFinished = true;
            channel.flush();
            network.note(this + " shuts its output down after " + written);
            promises.add(
                    new Promised(((RdmaStreamChannel) channel).shutdownOutput(), written, written));
        }
    }

    /** Closes behind what was flushed. */
    @Override
    public void close() {
        network.note(this + " closes after " + written);
        isClosed = true;
        closeNanos = network.nanoTime();
        channel.close();
    }

    /** Ends the connection at once, as a reset. */
    public void abort() {
        network.note(this + " aborts");
        isClosed = true;
        isAborted = true;
        channel.config().setOption(ChannelOption.SO_LINGER, 0);
        channel.close();
    }

    /** The connect of that channel was cancelled. If it is this one, it has ended, the connection perhaps made. */
    public void connectCancelled(Channel cancelled) {
        if (cancelled == channel) {
            isClosed = true;
            isAborted = true;
        }
    }

    // ------------------------------------------------------------------ what has become of it

    @Override
    public boolean isSettled() {
        settle();
        return promises.isEmpty();
    }

    @Override
    void settle() {
        while (!promises.isEmpty() && promises.peek().promise.isDone()) {
            Promised one = promises.poll();
            if (!one.promise.isSuccess()) {
                failed++;
                failure = one.promise.cause();
            } else if (failed == 0) {
                acknowledged = one.end;
            } else if (one.end > one.start && wrong == null) {
                wrong = "is told that bytes were sent behind some that were not";
            }
        }
    }

    /** {@return whether the stream was lost at one end: something failed, or its handler was told of an error} */
    boolean isLost() {
        settle();
        return failed > 0 || told != null;
    }

    /** {@return whether its handler was told of an error that is none of a transport} */
    boolean isToldOfDefect() {
        return (told instanceof Error && !(told instanceof OutOfMemoryError))
                || told instanceof NullPointerException
                || told instanceof IndexOutOfBoundsException
                || told instanceof IllegalReferenceCountException;
    }

    /** {@return whether all that the peer has written has arrived, and the end behind it} */
    @Override
    public boolean hasAll() {
        return received == peer.written && hasSeenEnd;
    }

    /** {@return whether all that the peer has flushed has arrived} */
    boolean hasFlushed() {
        return received >= peer.flushed;
    }

    /** {@return whether it or its peer has closed instead of shutting its output down} */
    public boolean isCut() {
        return isClosed || peer == null || peer.isClosed;
    }

    /**
     * {@return whether each byte that a promise of the peer has confirmed has arrived, unless an end was aborted or
     * closed before}
     */
    public boolean hasConfirmedBytes() {
        return peer == null || isClosed || peer.isAborted || received >= peer.acknowledged;
    }

    /**
     * Checks that {@link #hasConfirmedBytes()}.
     *
     * @throws AssertionError when some are missing
     */
    public void checkArrived() {
        settle();
        if (!hasConfirmedBytes()) {
            throw new AssertionError(
                    this
                            + " has received "
                            + received
                            + " bytes, and its peer was told of "
                            + peer.acknowledged);
        }
    }

    /**
     * Checks, where nothing is late, that its close has not waited until it was given up, if the other end closes too.
     *
     * @throws AssertionError when it has
     */
    public void checkClose() {
        boolean areBoth = peer != null && closeNanos > 0 && peer.closeNanos > 0;
        if (areBoth && !isAborted && !peer.isAborted && endNanos > 0) {
            long nanos = endNanos - Math.max(closeNanos, peer.closeNanos);
            if (nanos > MOST_CLOSE_NANOS) {
                throw new AssertionError(
                        this
                                + " was closed "
                                + nanos / 1_000_000
                                + " ms after both ends wanted it");
            }
        }
    }

    /**
     * Checks that nothing that it wanted has failed.
     *
     * @throws AssertionError when a promise has
     */
    @Override
    public void checkPromises() {
        settle();
        if (failed > 0) {
            throw new AssertionError("a promise of " + this + " fails", failure);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf bytes = (ByteBuf) message;
        int length = bytes.readableBytes();
        byte[] came = ByteBufUtil.getBytes(bytes);
        bytes.release();
        int key = key(!isServer);
        for (int i = 0; i < length && !isDeceived; i++) {
            if (came[i] != at(received + i, key)) {
                wrong = "reads another byte at " + (received + i);
                break;
            }
        }
        received += length;
        if (peer != null && received > peer.written) {
            wrong = "reads more than was written";
        }
        if (hasSeenEnd) {
            wrong = "reads bytes behind the end";
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof ChannelInputShutdownEvent) {
            if (hasSeenEnd) {
                wrong = "is told twice of the end of its input";
            }
            hasSeenEnd = true;
            network.note(this + " sees the end after " + received);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        hasSeenEnd = true;
        endNanos = network.nanoTime();
        network.note(this + " is closed");
    }

    @Override
    public String state() {
        return this
                + ": written "
                + written
                + ", received "
                + received
                + (isFinished ? ", finished" : "")
                + (hasSeenEnd ? ", has seen the end, " : ", ")
                + promises.size()
                + " promises open, "
                + failed
                + " failed, open: "
                + channel.isOpen();
    }
}
