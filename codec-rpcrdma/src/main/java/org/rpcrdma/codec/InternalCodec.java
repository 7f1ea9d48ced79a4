// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.wire.RpcHeaderDecoder;

/**
 * Gives {@code org.rpcrdma.codec.client} access to members of this package. Not part of the API: may change in any
 * release.
 */
public final class InternalCodec {

    private InternalCodec() {}

    // ------------------------------------------------------------------ connections

    /**
     * Puts a handler between the codec of a channel and the handlers of the upper layer.
     *
     * @param pipeline of a channel with the codec
     * @param handler a new one
     */
    public static void addAfterCodec(ChannelPipeline pipeline, ChannelHandler handler) {
        pipeline.addAfter(CodecStageHandler.lastOf(pipeline).name(), null, handler);
    }

    /**
     * Runs a task once the version of a connection is settled, at once if it is already.
     *
     * @param channel of an active connection
     * @param task runs on the event loop of the channel
     */
    public static void whenVersionSettled(Channel channel, Runnable task) {
        RpcRdmaConnection.of(channel).versions().whenSettled(task);
    }

    /**
     * Closes the channel of a responder that has not answered.
     *
     * @param connection of the channel
     * @param why for the log
     */
    public static void closeUnanswered(RpcRdmaConnection connection, String why) {
        connection.closeUnanswered(why);
    }

    /**
     * {@return whether an outbound call is in flight, or cancelled with its memory kept for a late reply}
     *
     * @param connection of the call
     * @param xid of the call
     */
    public static boolean isKnown(RpcRdmaConnection connection, int xid) {
        return connection.call(xid) != null;
    }

    /**
     * {@return whether an outbound call is in flight}
     *
     * @param connection of the call
     * @param xid of the call
     */
    public static boolean isAwaited(RpcRdmaConnection connection, int xid) {
        return connection.isAwaited(xid);
    }

    /**
     * {@return whether outbound calls may have chunks}
     *
     * @param connection of the calls
     */
    public static boolean mayHaveChunks(RpcRdmaConnection connection) {
        return connection.link().callsMayHaveChunks();
    }

    // ------------------------------------------------------------------ counters

    /**
     * Counts one.
     *
     * @param connection that it is counted for
     * @param counter of that
     */
    public static void increment(RpcRdmaConnection connection, RpcRdmaCounter counter) {
        connection.link().metrics().increment(counter);
    }

    /**
     * Counts one for no connection.
     *
     * @param metrics of a configuration
     * @param counter of that
     */
    public static void increment(RpcRdmaMetrics metrics, RpcRdmaCounter counter) {
        metrics.increment(counter);
    }

    /**
     * {@return the listeners of a configuration}
     *
     * @param metrics of the configuration
     */
    public static RpcRdmaLatencyListener[] listeners(RpcRdmaMetrics metrics) {
        return metrics.listeners();
    }

    // ------------------------------------------------------------------ messages

    /**
     * {@return the payload of a message; {@code null} when it is none}
     *
     * @param message a {@code ByteBuf} or an {@link RpcMessage}
     */
    public static ByteBuf payloadOf(Object message) {
        return RpcMessage.payloadOf(message);
    }

    /**
     * {@return the arguments that are not part of the payload of a message}
     *
     * @param message a {@code ByteBuf} or an {@link RpcMessage}
     */
    public static Reduction reductionOf(Object message) {
        return message instanceof RpcMessage annotated ? annotated.reduction() : Reduction.NONE;
    }

    /**
     * Repeatedly doubles the memory that a call offers for its reply.
     *
     * @param call to be written
     * @param doublings number of times
     * @param maximum of the memory, in bytes
     * @return the call
     */
    public static RpcMessage growth(RpcMessage call, int doublings, long maximum) {
        return call.growth(doublings, maximum);
    }

    /** Looks up whether calls are idempotent by their upper-layer bindings. Single-threaded. */
    public static final class IdempotenceLookup {

        private final RpcHeaderDecoder rpc = new RpcHeaderDecoder();
        private final ProcedureBinding procedure = new ProcedureBinding();
        private final XdrCursor arguments = new XdrCursor();

        /** A lookup for any number of calls, one at a time. */
        public IdempotenceLookup() {}

        /**
         * {@return whether executing a call twice is the same as executing it once}
         *
         * @param call a {@code ByteBuf} or an {@link RpcMessage}
         * @param config whose bindings are asked
         */
        public boolean isIdempotent(Object call, RpcRdmaConfig config) {
            ByteBuf payload = RpcMessage.payloadOf(call);
            int start = payload.readerIndex();
            int end = payload.writerIndex();
            if (!rpc.decode(payload, start, end) || !rpc.isReductionAllowed()) {
                return false; // RPCSEC_GSS has wrapped the arguments, which the binding could not
                // parse
            }
            try {
                procedure.of(rpc, config.bindings());
            } catch (UpperLayerBindingException e) {
                UserExceptionLog.failed("an upper-layer binding", e);
                return false;
            }
            arguments.wrap(payload, start, rpc.argumentsIndex(), end, reductionOf(call));
            return procedure.isIdempotent(arguments);
        }
    }

    // ------------------------------------------------------------------ failures

    /**
     * {@return the failure of a call that could not be encoded}
     *
     * @param cause of it
     */
    public static MarshalException marshalFailure(Throwable cause) {
        return new MarshalException(cause);
    }

    /**
     * {@return the failure of a call when the queue is full}
     *
     * @param limit of the queue
     */
    public static CallQueueFullException queueFull(int limit) {
        return new CallQueueFullException(limit);
    }

    /**
     * {@return the failure of a call whose deadline has passed}
     *
     * @param millis timeout of the call
     * @param transmissions connections on which the call was sent
     * @param badReplies dropped by the connection
     * @param lastFailure to connect; {@code null} for none
     */
    public static CallTimeoutException timeout(
            long millis, int transmissions, long badReplies, Throwable lastFailure) {
        return new CallTimeoutException(millis, transmissions, badReplies, lastFailure);
    }

    /**
     * {@return the failure of a call that is not sent again}
     *
     * @param why first part of the message
     * @param isSent whether the responder may have received the call
     * @param isRetryable whether it may be repeated
     * @param cause of it; {@code null} for none
     */
    public static ConnectionLostException connectionLost(
            String why, boolean isSent, boolean isRetryable, Throwable cause) {
        return new ConnectionLostException(why, isSent, isRetryable, cause);
    }

    /**
     * {@return whether a write has failed because the channel was closed before the call left}
     *
     * @param cause of the failed write
     */
    public static boolean isNotSent(Throwable cause) {
        return cause instanceof NotSentException;
    }

    /**
     * {@return whether a refused call could be repeated with more room for its reply}
     *
     * @param refusal of the call
     */
    public static boolean mayGrow(RemoteChunkException refusal) {
        return refusal.mayGrow();
    }

    /**
     * {@return whether the reply of a refused call cannot have been too long}
     *
     * @param refusal of the call
     */
    public static boolean coversReply(RemoteChunkException refusal) {
        return refusal.coversReply();
    }
}
