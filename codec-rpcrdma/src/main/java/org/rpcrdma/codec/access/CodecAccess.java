// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.access;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import org.rpcrdma.codec.CallQueueFullException;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaLatencyListener;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;

/** Opens the codec to the client above its pipeline. */
public abstract class CodecAccess {

    /** The only one. */
    public static final CodecAccess CODEC =
            CodecImplementationLoader.of(CodecAccess.class, "org.rpcrdma.codec.DefaultCodecAccess");

    protected CodecAccess() {}

    // ------------------------------------------------------------------ connections

    /**
     * Puts a handler between the codec of a channel and the handlers of the upper layer.
     *
     * @param pipeline of a channel with the codec
     * @param handler a new one
     */
    public abstract void addAfterCodec(ChannelPipeline pipeline, ChannelHandler handler);

    /**
     * Runs a task once the version of a connection is settled, at once if it is already.
     *
     * @param channel of an active connection
     * @param task runs on the event loop of the channel
     */
    public abstract void whenVersionSettled(Channel channel, Runnable task);

    /**
     * Closes the channel of a responder that has not answered.
     *
     * @param connection of the channel
     * @param why for the log
     */
    public abstract void closeUnanswered(RpcRdmaConnection connection, String why);

    /**
     * {@return whether an outbound call is in flight, or cancelled with its memory kept for a late reply}
     *
     * @param connection of the call
     * @param xid of the call
     */
    public abstract boolean isKnown(RpcRdmaConnection connection, int xid);

    /**
     * {@return whether an outbound call is in flight}
     *
     * @param connection of the call
     * @param xid of the call
     */
    public abstract boolean isAwaited(RpcRdmaConnection connection, int xid);

    /**
     * {@return whether an outbound call waits for a credit or memory}
     *
     * @param connection of the call
     * @param xid of the call
     */
    public abstract boolean isQueued(RpcRdmaConnection connection, int xid);

    /**
     * {@return whether outbound calls may have chunks}
     *
     * @param connection of the calls
     */
    public abstract boolean mayHaveChunks(RpcRdmaConnection connection);

    // ------------------------------------------------------------------ counters

    /**
     * Counts one.
     *
     * @param connection that it is counted for
     * @param counter of that
     */
    public abstract void increment(RpcRdmaConnection connection, RpcRdmaCounter counter);

    /**
     * Counts one for no connection.
     *
     * @param metrics of all connections
     * @param counter of that
     */
    public abstract void increment(RpcRdmaMetrics metrics, RpcRdmaCounter counter);

    /**
     * {@return the listeners}
     *
     * @param metrics that they were added to
     */
    public abstract RpcRdmaLatencyListener[] listeners(RpcRdmaMetrics metrics);

    // ------------------------------------------------------------------ messages

    /**
     * {@return the payload of a message; {@code null} when it is none}
     *
     * @param message a {@code ByteBuf} or an {@link RpcMessage}
     */
    public abstract ByteBuf payloadOf(Object message);

    /**
     * {@return the arguments that are not part of the payload of a message}
     *
     * @param message a {@code ByteBuf} or an {@link RpcMessage}
     */
    public abstract ItemInChunkPredicate reductionOf(Object message);

    /**
     * Repeatedly doubles the memory that a call offers for its reply.
     *
     * @param call to be written
     * @param doublings number of times
     * @param maximum of the memory, in bytes
     * @return the call
     */
    public abstract RpcMessage growth(RpcMessage call, int doublings, long maximum);

    /** Looks up whether calls are idempotent by their upper-layer bindings. Single-threaded. */
    public interface IdempotenceLookup {

        /**
         * {@return whether executing a call twice is the same as executing it once}
         *
         * @param call a {@code ByteBuf} or an {@link RpcMessage}
         * @param config whose bindings are asked
         */
        boolean evaluate(Object call, RpcRdmaConfig config);
    }

    /** {@return a lookup for any number of calls, one at a time} */
    public abstract IdempotenceLookup newIdempotenceLookup();

    // ------------------------------------------------------------------ failures

    /**
     * {@return the failure of a call that could not be encoded}
     *
     * @param cause of it
     */
    public abstract MarshalException marshalFailure(Throwable cause);

    /**
     * {@return the failure of a call when the queue is full}
     *
     * @param limit of the queue
     */
    public abstract CallQueueFullException queueFull(int limit);

    /**
     * {@return the failure of a call whose deadline has passed}
     *
     * @param millis timeout of the call
     * @param transmissions connections on which the call was sent
     * @param badReplies dropped by the connection
     * @param lastFailure to connect; {@code null} for none
     */
    public abstract CallTimeoutException timeout(
            long millis, int transmissions, long badReplies, Throwable lastFailure);

    /**
     * {@return the failure of a call that is not sent again}
     *
     * @param why first part of the message
     * @param isSent whether the responder may have received the call
     * @param isRetryable whether it may be repeated
     * @param cause of it; {@code null} for none
     */
    public abstract ConnectionLostException connectionLost(
            String why, boolean isSent, boolean isRetryable, Throwable cause);

    /**
     * {@return whether a write has failed because the channel was closed before the call left}
     *
     * @param cause of the failed write
     */
    public abstract boolean isNotSent(Throwable cause);

    /**
     * {@return whether a refused call could be repeated with more room for its reply}
     *
     * @param refusal of the call
     */
    public abstract boolean mayGrow(ErrChunkReplyException refusal);

    /**
     * {@return whether the reply of a refused call cannot have been too long}
     *
     * @param refusal of the call
     */
    public abstract boolean coversReply(ErrChunkReplyException refusal);
}
