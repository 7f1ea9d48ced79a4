// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import org.rpcrdma.codec.access.CodecAccess;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/** The only implementation of {@link CodecAccess}, and the only class that opens this package to another one. */
final class DefaultCodecAccess extends CodecAccess {

    private DefaultCodecAccess() {}

    // ------------------------------------------------------------------ connections

    @Override
    public void addAfterCodec(ChannelPipeline pipeline, ChannelHandler handler) {
        pipeline.addAfter(DirectlyLinkedStageHandler.lastOf(pipeline).name(), null, handler);
    }

    @Override
    public void whenVersionSettled(Channel channel, Runnable task) {
        RpcRdmaConnection.of(channel).versions().whenSettled(task);
    }

    @Override
    public void closeUnanswered(RpcRdmaConnection connection, String why) {
        connection.closeUnanswered(why);
    }

    @Override
    public boolean isKnown(RpcRdmaConnection connection, int xid) {
        return connection.call(xid) != null;
    }

    @Override
    public boolean isAwaited(RpcRdmaConnection connection, int xid) {
        return connection.isAwaited(xid);
    }

    @Override
    public boolean isQueued(RpcRdmaConnection connection, int xid) {
        OutboundCallState call = connection.call(xid);
        return call != null && call.isQueued();
    }

    @Override
    public boolean mayHaveChunks(RpcRdmaConnection connection) {
        return connection.link().callsMayHaveChunks();
    }

    // ------------------------------------------------------------------ counters

    @Override
    public void increment(RpcRdmaConnection connection, RpcRdmaCounter counter) {
        connection.link().metrics.increment(counter);
    }

    @Override
    public void increment(RpcRdmaMetrics metrics, RpcRdmaCounter counter) {
        metrics.increment(counter);
    }

    @Override
    public RpcRdmaLatencyListener[] listeners(RpcRdmaMetrics metrics) {
        return metrics.listeners;
    }

    // ------------------------------------------------------------------ messages

    @Override
    public ByteBuf payloadOf(Object message) {
        return RpcMessage.payloadOf(message);
    }

    @Override
    public ItemInChunkPredicate reductionOf(Object message) {
        return reduction(message);
    }

    private static ItemInChunkPredicate reduction(Object message) {
        return message instanceof RpcMessage annotated
                ? annotated.reduction()
                : ItemInChunkPredicate.NONE;
    }

    @Override
    public RpcMessage growth(RpcMessage call, int doublings, long maximum) {
        return call.growth(doublings, maximum);
    }

    private static final class Idempotence implements IdempotenceLookup {

        private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
        private final UpperLayerBindingInvoker procedure = new UpperLayerBindingInvoker();
        private final XdrCursor arguments = new XdrCursor();

        @Override
        public boolean evaluate(Object call, RpcRdmaConfig config) {
            try {
                return evaluateReadable(call, config);
            } catch (RuntimeException e) {
                // Here other calls wait for their end too.
                UserExceptionLog.failed("a message that was released by somebody else", e);
                return false;
            }
        }

        private boolean evaluateReadable(Object call, RpcRdmaConfig config) {
            ByteBuf payload = RpcMessage.payloadOf(call);
            int start = payload.readerIndex();
            int end = payload.writerIndex();
            if (!rpc.decode(payload, start, end) || !rpc.reductionAllowed) {
                // RPCSEC_GSS has wrapped the arguments, which the binding could not parse.
                return false;
            }
            try {
                procedure.of(rpc, config.bindings());
            } catch (FaultyUpperLayerBindingException e) {
                UserExceptionLog.failed("an upper-layer binding", e);
                return false;
            }
            arguments.wrap(payload, start, rpc.argumentsIndex, end, reduction(call));
            return procedure.evaluateIdempotence(arguments);
        }
    }

    @Override
    public IdempotenceLookup newIdempotenceLookup() {
        return new Idempotence();
    }

    // ------------------------------------------------------------------ failures

    @Override
    public MarshalException marshalFailure(Throwable cause) {
        return new MarshalException(cause);
    }

    @Override
    public CallQueueFullException queueFull(int limit) {
        return new CallQueueFullException(limit);
    }

    @Override
    public CallTimeoutException timeout(
            long millis, int transmissions, long badReplies, Throwable lastFailure) {
        return new CallTimeoutException(millis, transmissions, badReplies, lastFailure);
    }

    @Override
    public ConnectionLostException connectionLost(
            String why, boolean isSent, boolean isRetryable, Throwable cause) {
        return new ConnectionLostException(why, isSent, isRetryable, cause);
    }

    @Override
    public boolean isNotSent(Throwable cause) {
        return cause instanceof CallNotSentException;
    }

    @Override
    public boolean mayGrow(ErrChunkReplyException refusal) {
        return refusal.mayGrow();
    }

    @Override
    public boolean coversReply(ErrChunkReplyException refusal) {
        return refusal.coversReply();
    }
}
