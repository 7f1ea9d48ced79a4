// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import java.io.IOException;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemory;
import org.rpcrdma.verbs.WorkStatus;

/** Sends and receives on a queue pair, with the memory for it; it lives as long as the queue pair. Event loop only. */
abstract class ChannelProtocol<C extends AbstractRdmaConnection> {

    /**
     * Stands in the outbound buffer for an empty one, Netty's way to wait for what was written before it: a write that
     * was cancelled leaves an empty buffer there.
     */
    static final Object NOTHING = new Object();

    final C channel;

    ChannelProtocol(C channel) {
        this.channel = channel;
    }

    // ------------------------------------------------------------------ beginning and end

    /** The queue pair is about to connect or to accept: memory is taken and receives are posted now. */
    abstract void begin();

    /** What is sent as connection private data, where the device carries any. */
    abstract byte[] privateData();

    /** What the peer is taken to have sent where the device carries no private data. */
    abstract byte[] assumedPrivateData();

    /**
     * The connection exists, and the channel is about to be active.
     *
     * @param peerData what the peer sent as private data
     * @throws IOException when the two ends do not understand each other: the connection is given up
     */
    void opened(byte[] peerData) throws IOException {
        // Nothing has to be agreed on.
    }

    /** Whether a close has to wait, for posted work as a rule. */
    abstract boolean mustDrain();

    /** A close begins: what is to be said before the end is posted now. */
    void closing() {
        // Nothing is said.
    }

    /** Flushed messages are about to be released, done or not: what the device may still be using must stay. */
    void outputEnds() {
        // Nothing that is posted is of these messages.
    }

    /**
     * What the pipeline is told of the end of the connection.
     *
     * @param cause as the device has it, or {@code null}
     * @return the exception, or {@code null} if it ended as it should
     */
    Throwable endOfConnection(Throwable cause) {
        return cause;
    }

    /** The queue pair is gone: from here on nobody but us touches the memory, which may not have been taken yet. */
    abstract void freed();

    // ------------------------------------------------------------------ work

    /**
     * Posts the flushed messages that are not posted yet, as far as there is room.
     *
     * @throws RuntimeException when the device refuses; what is half posted cannot be taken back
     */
    abstract void post(ChannelOutboundBuffer flushed) throws Exception;

    /** Memory for a message that begins to arrive, see {@link QueuePairHandler#receiveMemory}. */
    ReceiveMemory receiveMemory(long id, int length) {
        throw new UnsupportedOperationException("receive without memory: " + id);
    }

    /** Memory for bytes that the peer writes, see {@link QueuePairHandler#writeMemory}. */
    ReceiveMemory writeMemory(int key, int start, int length) {
        throw new UnsupportedOperationException("exposed without memory: " + key);
    }

    /** A work request is complete, see {@link QueuePairHandler#completed}. */
    abstract void completed(long id, WorkStatus status, int length);

    /** The peer has written instead of sending, see {@link QueuePairHandler#writtenWithImmediate}. */
    boolean writtenWithImmediate(long id, int length, int immediate) {
        return false;
    }

    // ------------------------------------------------------------------ reading

    /** Whether something has arrived that the pipeline wants and has not got. */
    abstract boolean hasInbound();

    /**
     * The next piece of what has arrived, which the caller releases.
     *
     * @param wanted so many bytes, of what may be cut
     */
    abstract ByteBuf next(int wanted);

    /** How many bytes were asked for by a read that has got so many. */
    abstract int attempted(int wanted, int got);

    /** Gives the pipeline what has arrived, as far as it wants to read. */
    final void deliver() {
        ChannelPipeline pipeline = channel.pipeline();
        var handle = channel.unsafe().recvBufAllocHandle();
        handle.reset(channel.config());
        do {
            int wanted = handle.guess();
            ByteBuf arrived = next(wanted);
            int length = arrived.readableBytes();
            channel.readBegins();
            handle.attemptedBytesRead(attempted(wanted, length));
            handle.lastBytesRead(length);
            handle.incMessagesRead(1);
            pipeline.fireChannelRead(arrived);
        } while (channel.mayDeliver() && hasInbound() && handle.continueReading());
        handle.readComplete();
        if (channel.mayDeliver()) {
            readCompletes();
        }
        pipeline.fireChannelReadComplete();
    }

    /** The pipeline has been given what it wants and is about to flush: what is posted now goes out with that. */
    void readCompletes() {
        // Nothing follows from it.
    }

    /** What has arrived is delivered, as far as the pipeline wants it, and the channel is still active. */
    void delivered() {
        // Nothing follows from it.
    }
}
