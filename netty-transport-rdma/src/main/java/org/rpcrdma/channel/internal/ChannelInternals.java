// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelPromise;
import io.netty.util.AttributeKey;

/**
 * The operations of a message channel for a codec, besides the public ones. Event loop only, unless a method says so.
 */
public interface ChannelInternals {

    /** Where a message channel keeps its own. */
    AttributeKey<ChannelInternals> KEY = AttributeKey.valueOf(ChannelInternals.class, "KEY");

    /** {@return the internals of a message channel; {@code null} of any other channel} Any thread. */
    static ChannelInternals of(Channel channel) {
        return channel.attr(KEY).get();
    }

    /**
     * Passes messages to a handler without the pipeline's way to it, as long as that handler is the first one. All
     * other events take the pipeline.
     *
     * @param context of the handler; {@code null} for no such handler any more
     * @param handler {@code null} for none
     */
    void readInto(ChannelHandlerContext context, ChannelInboundHandler handler);

    /** Whether the channel sends nothing more: a close may still wait for work that was posted before. */
    boolean isOutputClosed();

    /** Whether to expose this memory itself; {@code false} for memory to copy into a registered buffer first. */
    boolean exposesInPlace(ByteBuf buffer, int index, int length);

    /**
     * Whether a Send may begin before the reader index of this buffer: the caller holds its only reference, and the
     * device sends from its memory.
     */
    boolean mayPrepend(ByteBuf buffer);

    /**
     * A part of a buffer, for a message that is written to this channel at once: a copy in registered memory if there
     * are few bytes and the device cannot use theirs, otherwise a slice.
     *
     * @param buffer stays the caller's
     * @param index of the first byte
     * @param length in bytes, from 1
     * @return a buffer whose readable bytes these are; owned by the caller
     * @throws IllegalStateException when there is no more memory to register
     */
    ByteBuf sendablePart(ByteBuf buffer, int index, int length);

    /**
     * Writes a Send or an RDMA Write as the channel's {@link Channel.Unsafe} does, without Netty's outbound buffer and
     * its cost; for a codec that is next to the channel. Order, water marks and outcome are the same. When Netty's
     * outbound buffer takes the messages over, as for any other message, {@code channelWritabilityChanged} is told by a
     * task, and may be told once more than the channel has changed.
     *
     * @param message and promise are taken over if the result is {@code true}
     * @param promise not done
     * @return {@code false} for whatever is unusual about the message or the channel: write it by the usual way
     */
    boolean tryWrite(Object message, ChannelPromise promise);

    /**
     * Whether to deliver no message while too many of this channel's own are flushed and not sent: a peer that takes no
     * replies is held up, and does not fill the memory of all connections. For a codec with credits alone: a peer
     * within them finds a receive for each message, whereas two ends without credits would wait for each other.
     */
    void boundUnsent(boolean isBounded);

    /**
     * Whether the device accepts a peer's Send with Invalidate for handles of this channel. If not, do not announce
     * support to the peer: such a Send ends the connection. After registration.
     */
    boolean takesInvalidation();

    /**
     * Counts memory for data that the peer has announced but not delivered, such as the sinks of RDMA Reads, against
     * the quota of the peer's address, until {@link #incompleteEnds} or the end of the channel.
     *
     * @param bytes from 0
     * @throws IllegalStateException if the quota is exceeded; then nothing is counted
     */
    void incompleteBegins(int bytes);

    /** Ends the counting: the data have arrived or are discarded. No effect if the channel is closed. */
    void incompleteEnds(int bytes);

    /**
     * Whether the device allocates the memory of a receive on arrival of its message, so that posted receives need
     * none. After registration.
     */
    boolean receivesWithoutMemory();

    /**
     * Sets the longest message accepted from now on, in the place of RECEIVE_SIZE. After registration. No message is
     * accepted before the channel is active, so that a size set in {@code channelActive} applies to all messages; but
     * a handler may delay that event, so set the size before announcing it to the peer.
     *
     * @param bytes 1024 to 1 MiB
     * @throws IllegalStateException if receives already have memory, see {@link #receivesWithoutMemory()}
     */
    void receiveUpTo(int bytes);

    /**
     * The least number of posted receives while the pipeline reads; lower than RECEIVE_DEPTH because receives are
     * replaced in batches.
     *
     * @throws IllegalStateException when the channel has no receives yet
     */
    int keptReceives();

    /**
     * Changes {@link #keptReceives()}. Additional receives are posted before this method returns, and may then be
     * promised to the peer. With a lower number, posted receives are not withdrawn, but consumed ones are not replaced
     * until the new number is reached. No effect after the channel is closed.
     *
     * @param count from 1
     * @return the resulting number: lower than requested if RECEIVE_DEPTH or registered memory does not suffice
     * @throws IllegalStateException when the device refuses receives, and the channel is closed then; or when the
     *     channel has no receives yet
     */
    int keepReceives(int count);

    /**
     * Whether to flush a large batch of writes in parts. Then the peer processes the first part while this side writes
     * the next. {@code true} while the loop polls and no other channel of the loop has inbound data: otherwise the
     * additional system call brings no gain.
     */
    boolean flushesInParts();

    /** The clock of deadlines and of scheduled tasks, as {@link System#nanoTime}. Any thread, after registration. */
    long nanoTime();
}
