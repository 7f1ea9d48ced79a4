// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.access.CodecAccess;

/** Current channel of one requester, if any. Event loop only. */
final class CurrentRequesterChannel {

    private final boolean fencesCancelled;
    private Channel channel;

    /**
     * @param fencesCancelled whether to invalidate the memory of a cancelled call at once
     */
    CurrentRequesterChannel(boolean fencesCancelled) {
        this.fencesCancelled = fencesCancelled;
    }

    /** {@code null} while there is none. */
    Channel channel() {
        return channel;
    }

    boolean isThere() {
        return channel != null;
    }

    /** Sets the channel of all further calls; {@code null} for none. */
    void use(Channel next) {
        channel = next;
    }

    /** {@code null} while there is none. */
    private RpcRdmaConnection connection() {
        return channel == null ? null : RpcRdmaConnection.of(channel);
    }

    // ------------------------------------------------------------------ calls

    /** Whether the channel is open; if not, the event of its loss is pending. */
    boolean isActive() {
        return channel.isActive();
    }

    /** Whether a channel has no calls in flight. */
    static boolean isIdle(Channel channel) {
        return RpcRdmaConnection.of(channel).callsInFlight() == 0;
    }

    /** As {@link #isIdle(Channel)}, for the current channel. */
    boolean isIdle() {
        return isIdle(channel);
    }

    /** Writes a prepared call. */
    void write(CallWithReplyFuture<?> call) {
        call.writeTo(channel);
    }

    void flush() {
        if (channel != null) {
            channel.flush();
        }
    }

    /** Cancels a call, if it was written to this channel. */
    void cancel(CallWithReplyFuture<?> call) {
        if (has(call)) {
            channel.writeAndFlush(new RpcRdmaCancel(call.xid, fencesCancelled));
        }
    }

    /**
     * Cancels a call that moves to another channel, if it was written to this one, and invalidates its memory before
     * reuse (RFC 8166, 4.4.1).
     */
    void leave(CallWithReplyFuture<?> call) {
        if (has(call)) {
            channel.writeAndFlush(new RpcRdmaCancel(call.xid, true));
        }
    }

    /** Whether a call is in flight: the responder may have received it. */
    static boolean isOut(CallWithReplyFuture<?> call) {
        return CodecAccess.CODEC.isAwaited(RpcRdmaConnection.of(call.channel), call.xid);
    }

    /** Whether the call was written to this channel. */
    boolean has(CallWithReplyFuture<?> call) {
        return call.channel != null && call.channel == channel;
    }

    /** Whether this channel may repeat calls with more memory for their replies. */
    boolean mayGrow() {
        return channel != null && CodecAccess.CODEC.mayHaveChunks(connection());
    }

    void count(RpcRdmaCounter counter) {
        CodecAccess.CODEC.increment(connection(), counter);
    }

    // ------------------------------------------------------------------ answers

    /**
     * Number of answers on a channel, including answers to cancelled calls, which also prove that the responder is
     * alive.
     */
    static long answers(Channel channel) {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        return connection.value(RpcRdmaCounter.REPLIES_RECEIVED)
                + connection.value(RpcRdmaCounter.ERRORS_RECEIVED);
    }

    /** As {@link #answers(Channel)}, for the current channel. */
    long answers() {
        return answers(channel);
    }

    /** Whether the call is in flight on this channel, without any answer since its write. */
    boolean isSilentSince(CallWithReplyFuture<?> call) {
        return has(call) && call.answersBefore == answers();
    }

    /** Whether a reply with that XID may still arrive, also to a cancelled call. */
    boolean mayAnswer(int xid) {
        return channel != null && CodecAccess.CODEC.isKnown(connection(), xid);
    }

    /** Whether a call with that XID is in flight. */
    boolean isAwaited(int xid) {
        return CodecAccess.CODEC.isAwaited(connection(), xid);
    }

    /** Whether a call with that XID waits for a credit or memory: the responder has not seen it. */
    boolean isQueued(int xid) {
        return CodecAccess.CODEC.isQueued(connection(), xid);
    }

    long badReplies() {
        return channel == null ? 0 : connection().value(RpcRdmaCounter.DROPPED_BAD_REPLY);
    }
}
