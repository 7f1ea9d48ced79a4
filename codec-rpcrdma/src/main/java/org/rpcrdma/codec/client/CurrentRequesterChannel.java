// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;

/** The channel that the calls of one requester go out on, while there is one. Event loop only. */
final class CurrentRequesterChannel {

    private final boolean fencesCancelled;
    private Channel channel;

    /**
     * @param fencesCancelled whether the memory of a call that is given up is taken away from the responder at once
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

    /** That of all calls from here on; {@code null} for none. */
    void use(Channel next) {
        channel = next;
    }

    /** {@code null} while there is none. */
    private RpcRdmaConnection connection() {
        return channel == null ? null : RpcRdmaConnection.of(channel);
    }

    // ------------------------------------------------------------------ calls

    /** Whether the channel is open: when it is not, its loss is on its way. */
    boolean isActive() {
        return channel.isActive();
    }

    /** Whether nothing is out on a channel. */
    static boolean isIdle(Channel channel) {
        return RpcRdmaConnection.of(channel).callsInFlight() == 0;
    }

    /** As {@link #isIdle(Channel)}, of the channel that there is. */
    boolean isIdle() {
        return isIdle(channel);
    }

    /** Writes a call, which is ready. */
    void write(CallReplyFuture<?> call) {
        call.writeTo(channel);
    }

    void flush() {
        if (channel != null) {
            channel.flush();
        }
    }

    /** Gives a call up, if it is out here. */
    void cancel(CallReplyFuture<?> call) {
        if (has(call)) {
            channel.writeAndFlush(new RpcRdmaCancel(call.xid, fencesCancelled));
        }
    }

    /**
     * Gives a call up that goes elsewhere, if it is out here: its memory is fenced before anybody else uses it (RFC
     * 8166, 4.4.1).
     */
    void leave(CallReplyFuture<?> call) {
        if (has(call)) {
            channel.writeAndFlush(new RpcRdmaCancel(call.xid, true));
        }
    }

    /** Whether a call has left the codec, and is not answered: the responder may have it. */
    static boolean isOut(CallReplyFuture<?> call) {
        return InternalCodec.isAwaited(RpcRdmaConnection.of(call.channel), call.xid);
    }

    /** Whether the call was written here. */
    boolean has(CallReplyFuture<?> call) {
        return call.channel != null && call.channel == channel;
    }

    /** Whether calls may be repeated here with more room for their replies. */
    boolean mayGrow() {
        return channel != null && InternalCodec.mayHaveChunks(connection());
    }

    void count(RpcRdmaCounter counter) {
        InternalCodec.increment(connection(), counter);
    }

    // ------------------------------------------------------------------ answers

    /** What the responder has answered on a channel, calls that were given up included: what answers is alive. */
    static long answers(Channel channel) {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        return connection.value(RpcRdmaCounter.REPLIES_RECEIVED)
                + connection.value(RpcRdmaCounter.ERRORS_RECEIVED);
    }

    /** As {@link #answers(Channel)}, of the channel that there is. */
    long answers() {
        return answers(channel);
    }

    /** Whether the call is out here, and nothing was answered since it was written. */
    boolean isSilentSince(CallReplyFuture<?> call) {
        return has(call) && call.answersBefore == answers();
    }

    /** Whether a message with that XID may still come: the call may have been given up. */
    boolean mayAnswer(int xid) {
        return channel != null && InternalCodec.isKnown(connection(), xid);
    }

    /** Whether a call with that XID is out, and not answered. */
    boolean isAwaited(int xid) {
        return InternalCodec.isAwaited(connection(), xid);
    }

    long badReplies() {
        return channel == null ? 0 : connection().value(RpcRdmaCounter.DROPPED_BAD_REPLY);
    }
}
