// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import java.io.IOException;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Data path of one queue pair, for messages or a byte stream: sends, receives, and owns the memory for both. Lives as
 * long as the queue pair. Event loop only.
 */
abstract class AbstractChannelDataPath<C extends AbstractConnectedRdmaChannel> {

    /**
     * Replaces an empty buffer of the user in the outbound buffer. Netty users write an empty buffer to wait for
     * earlier writes, and a cancelled write leaves an empty buffer: this object tells the two apart.
     */
    static final Object NOTHING = new Object();

    final C channel;

    AbstractChannelDataPath(C channel) {
        this.channel = channel;
    }

    // ------------------------------------------------------------------ beginning and end

    /** The queue pair is about to connect or to accept: allocates memory and posts receives. */
    abstract void begin();

    /** Private data to send, if the device carries any. */
    abstract byte[] privateData();

    /** Private data assumed of the peer if the device carries none. */
    abstract byte[] assumedPrivateData();

    /**
     * The connection is established, and the channel is about to be active.
     *
     * @param peerData what the peer sent as private data
     * @throws IOException when the ends are incompatible: the connection is closed
     */
    void opened(byte[] peerData) throws IOException {
        // No negotiation.
    }

    /** Whether a close has to wait, normally for posted work. */
    abstract boolean mustDrain();

    /** A close begins: posts the last messages of the data path. */
    void closing() {
        // No last message.
    }

    /** Netty takes no more messages, and is about to fail those that it has. */
    void outputCloses() {
        // Netty has all messages.
    }

    /** Netty is about to release all flushed messages: retains memory that the device may still use. */
    void outputEnds() {
        // Posted work uses no memory of these messages.
    }

    /**
     * The exception that the pipeline sees at the end of the connection.
     *
     * @param cause reported by the device, or {@code null}
     * @return the exception, or {@code null} after an orderly end
     */
    Throwable endOfConnection(Throwable cause) {
        return cause;
    }

    /**
     * The queue pair was destroyed: neither device nor peer accesses its memory, which is released if it was allocated.
     */
    abstract void freed();

    // ------------------------------------------------------------------ work

    /**
     * Posts flushed messages while there is room in the send queue.
     *
     * @throws RuntimeException when the device refuses; a partly posted message cannot be revoked
     */
    abstract void post(ChannelOutboundBuffer flushed) throws Exception;

    /**
     * Posts flushed messages that are not in the outbound buffer, or moves them there if they cannot be posted.
     *
     * @param isFlush whether all that is written is flushed now
     * @param mayPost whether the connection takes messages
     */
    void postUnbuffered(boolean isFlush, boolean mayPost) {
        // All messages are in the outbound buffer.
    }

    /** Memory for a message that is arriving, see {@link QueuePairHandler#receiveMemory}. */
    ReceiveMemoryRange receiveMemory(long id, int length) {
        throw new UnsupportedOperationException("receive without memory: " + id);
    }

    /** Memory for bytes that the peer is writing, see {@link QueuePairHandler#writeMemory}. */
    ReceiveMemoryRange writeMemory(int key, int start, int length) {
        throw new UnsupportedOperationException("exposed without memory: " + key);
    }

    /** Whether the peer's Writes were announced, see {@link QueuePairHandler#unannounced}. */
    long unannounced() {
        return -1;
    }

    /** A work request has completed, see {@link QueuePairHandler#completed}. */
    abstract void completed(long id, WorkStatus status, int length);

    /**
     * The peer has used RDMA Write with immediate data instead of a Send, see {@link
     * QueuePairHandler#acceptWriteWithImmediate}.
     */
    boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        return false;
    }

    // ------------------------------------------------------------------ reading

    /** Whether there are inbound data that the pipeline wants and has not received. */
    abstract boolean hasInbound();

    /** Whether receives are replaced once the pipeline has read, see {@link QueuePairHandler#receivesFollow}. */
    boolean receivesFollow() {
        return hasInbound();
    }

    /**
     * The next inbound message or bytes; the caller releases them.
     *
     * @param wanted the most bytes of a stream
     */
    abstract ByteBuf next(int wanted);

    /** Bytes to report as attempted for a read of that many bytes. */
    abstract int attempted(int wanted, int got);

    /** Delivers inbound data while the pipeline wants to read. */
    final void deliver() {
        ChannelPipeline pipeline = channel.pipeline();
        Channel.Unsafe unsafe = channel.ownUnsafe();
        var handle = unsafe.recvBufAllocHandle();
        handle.reset(channel.config());
        do {
            int wanted = handle.guess();
            ByteBuf arrived = next(wanted);
            int length = arrived.readableBytes();
            channel.readPending = false;
            handle.attemptedBytesRead(attempted(wanted, length));
            handle.lastBytesRead(length);
            handle.incMessagesRead(1);
            pass(pipeline, arrived);
        } while (channel.mayDeliver() && hasInbound() && handle.continueReading());
        handle.readComplete();
        if (channel.mayDeliver()) {
            readCompletes();
        }
        pipeline.fireChannelReadComplete();
    }

    /** Passes a message or bytes to the pipeline. */
    void pass(ChannelPipeline pipeline, ByteBuf arrived) {
        pipeline.fireChannelRead(arrived);
    }

    /** The pipeline is about to handle channelReadComplete and to flush: work posted now shares that doorbell. */
    void readCompletes() {
        // Nothing follows from it.
    }

    /** Inbound data are delivered as far as the pipeline wants them, and the channel is still active. */
    void delivered() {
        // Nothing follows from it.
    }
}
