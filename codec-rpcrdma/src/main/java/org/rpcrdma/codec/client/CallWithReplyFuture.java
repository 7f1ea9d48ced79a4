// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.Objects;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.access.CodecAccess;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcPromise;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;

/**
 * One call of a requester, and the future of what its {@link ReplyOutcomeDecoder} makes of the reply. All state except
 * the future belongs to the event loop of the requester.
 *
 * @param <T> type of the outcome
 */
final class CallWithReplyFuture<T> extends RpcPromise<T> implements Runnable {

    /** Owner of calls: is told of their cancellation and of failed writes. */
    interface Keeper {

        /** The event loop of the calls. Any thread. */
        EventLoop loop();

        /** The user has cancelled the call. Any thread. */
        void cancelled(CallWithReplyFuture<?> call);

        /** The write of a call has failed. On the event loop. */
        void writeFailed(CallWithReplyFuture<?> call, Throwable cause);
    }

    private final Keeper keeper;

    /** {@code null} for a call that was submitted as a message. */
    private final CallMarshaller<?> marshaller;

    /** Takes the reply over; called once, at most. */
    private final ReplyOutcomeDecoder<ReferenceCounted, ? extends T> reader;

    /** {@code null} until encoded. */
    private ReferenceCounted message;

    final CallOptions options;
    final long deadline;

    /** Number in order of submission. */
    long serial;

    int xid;
    boolean isStarted;

    /** Whether the call is bound to one channel and ends with it. */
    boolean isOfOneChannel;

    /** Channel of the last write; {@code null} while the call waits for a connection. */
    Channel channel;

    /** Whether the responder may have received the call on that channel. */
    boolean isInDoubt;

    /** Whether the responder may have received the call on an earlier channel, or with less memory for its reply. */
    boolean wasSent;

    /** Reason of the repetition with more memory for the reply; {@code null} for none. */
    ErrChunkReplyException refusal;

    /** Number of connections on which the responder may have received the call. */
    int transmissions;

    /** Connections lost, and failed connection attempts, while the call waited. */
    int losses;

    /** Number of answers on the channel before the call was written. */
    long answersBefore;

    /** Whether the call was refused although its memory covers the reply, and is repeated unchanged. */
    boolean isRepeated;

    /** Number of times that the memory for the reply was doubled. */
    int growth;

    /** The most bytes that are offered for its reply after a doubling. */
    long growthMaximum = Long.MAX_VALUE;

    /** The most bytes that a repeated call offers for its reply. */
    long grownBytes;

    private ReferenceCounted reply;
    private Throwable failure;

    /** A call from a message, which is taken over, or from a marshaller. */
    CallWithReplyFuture(
            Keeper keeper,
            ReferenceCounted message,
            CallMarshaller<?> marshaller,
            ReplyOutcomeDecoder<ReferenceCounted, ? extends T> reader,
            CallOptions options,
            long deadline) {
        super(keeper.loop());
        this.keeper = keeper;
        this.message = message;
        this.marshaller = marshaller;
        this.reader = reader;
        this.options = options;
        this.deadline = deadline;
    }

    /** A {@link ByteBuf} or an {@link RpcMessage}. */
    ReferenceCounted message() {
        return message;
    }

    /**
     * Builds the message if necessary, with its XID.
     *
     * @return why the call cannot be sent; {@code null} if it can
     */
    Exception prepare() {
        try {
            if (marshaller == null) {
                ByteBuf payload = CodecAccess.CODEC.payloadOf(message);
                payload.setInt(payload.readerIndex(), xid);
                return null;
            }
            return encode();
        } catch (Throwable t) {
            // From the marshaller, or from a message that was released by other code.
            return CodecAccess.CODEC.marshalFailure(t);
        }
    }

    private Exception encode() throws Exception {
        releaseMessage();
        message = null;
        message = Objects.requireNonNull(marshaller.marshal(xid), "encoded call");
        message = withoutMark(message);
        ByteBuf payload = CodecAccess.CODEC.payloadOf(message);
        if (payload == null) {
            return new IllegalArgumentException(
                    "encoded call: "
                            + message.getClass().getName()
                            + " (expected: a ByteBuf or an RpcMessage)");
        }
        String problem = problem(payload);
        if (problem == null && payload.getInt(payload.readerIndex()) != xid) {
            problem =
                    "encoded call with XID 0x"
                            + Integer.toHexString(payload.getInt(payload.readerIndex()))
                            + " (expected: 0x"
                            + Integer.toHexString(xid)
                            + ')';
        }
        return problem == null ? null : new IllegalArgumentException(problem);
    }

    /**
     * Removes the record mark of TCP (RFC 5531, 11), if any. The codec would remove it too, but the XID is needed
     * before.
     *
     * @param message taken over
     */
    static ReferenceCounted withoutMark(ReferenceCounted message) {
        return message instanceof ByteBuf call
                ? OutboundRecordMarkDetector.without(call, call.alloc())
                : message;
    }

    /** Why a message cannot be sent as a call, which requires writing its XID; {@code null} if it can. */
    static String messageProblem(ReferenceCounted message) {
        ByteBuf payload = CodecAccess.CODEC.payloadOf(message);
        if (payload == null) {
            return message.getClass().getName() + " as a call (expected: ByteBuf or RpcMessage)";
        }
        String problem = problem(payload);
        return problem == null && payload.isReadOnly()
                ? "call in a read-only buffer (expected: a writable one, for the XID)"
                : problem;
    }

    /** Why a message is not a call; {@code null} if it is. */
    private static String problem(ByteBuf payload) {
        return payload.readableBytes() < OncRpcHeaderDecoder.MINIMUM_CALL_BYTES
                        || payload.getInt(payload.readerIndex() + 4) != OncRpcHeaderDecoder.CALL
                        || payload.getInt(payload.readerIndex() + 8)
                                != OncRpcHeaderDecoder.RPC_VERSION
                ? "message of "
                        + payload.readableBytes()
                        + " bytes (expected: a call of RPC version 2, at least "
                        + OncRpcHeaderDecoder.MINIMUM_CALL_BYTES
                        + " bytes, without a record mark)"
                : null;
    }

    /** Writes the message; the call keeps its own reference. */
    void writeTo(Channel to) {
        channel = to;
        isInDoubt = true;
        transmissions++;
        message.retain();
        Object written = message;
        if (message instanceof RpcMessage annotated) {
            CodecAccess.CODEC.growth(annotated, growth, growthMaximum);
        } else if (growth > 0) {
            written =
                    CodecAccess.CODEC.growth(
                            new RpcMessage((ByteBuf) message), growth, growthMaximum);
        }
        to.write(written).addListener((ChannelFutureListener) this::written);
    }

    /** The channel ended, or the call was cancelled there, while the call waited for a credit. */
    void notSent() {
        isInDoubt = false;
        transmissions--;
    }

    /** Sets the XID of the next transmission. */
    void assign(int transactionId) {
        xid = transactionId;
    }

    /** The channel is lost, and with it the memory that the call had exposed. */
    void lostChannel() {
        channel = null;
        wasSent |= isInDoubt;
        isInDoubt = false;
    }

    /** The responder has refused the call, which waits to be repeated unchanged. It may have executed the call. */
    void repeatUnchanged(ErrChunkReplyException reason) {
        lostChannel();
        wasSent = true;
        isRepeated = true;
        refusal = reason;
    }

    /**
     * The responder has refused the call, which is repeated with twice the memory for its reply. It may have executed
     * the call.
     *
     * @param maximum the most bytes that any repetition offers
     * @param bytes the bytes that this one offers
     */
    void repeatWithMoreMemory(ErrChunkReplyException reason, long maximum, long bytes) {
        wasSent = true;
        refusal = reason;
        growth++;
        growthMaximum = maximum;
        grownBytes = bytes;
    }

    /** The memory for a larger reply is released. */
    void clearGrownBytes() {
        grownBytes = 0;
    }

    private void written(ChannelFuture write) {
        if (!write.isSuccess() && write.channel() == channel) {
            keeper.writeFailed(this, write.cause());
        }
    }

    /** Completes the call with its reply, which is taken over. */
    void answeredBy(ReferenceCounted received) {
        ReferenceCounted result = received;
        if (message instanceof ByteBuf && received instanceof RpcMessage annotated) {
            result = annotated.content().retain();
            annotated.release();
        }
        reply = result;
    }

    void failedBy(Throwable cause) {
        failure = cause;
    }

    /** Completes the future, unless the user has cancelled it. */
    @Override
    public void run() {
        if (reply == null) {
            tryFailure(failure);
        } else if (setUncancellable()) {
            completeBy(reply);
        } else {
            reply.release();
        }
    }

    private void completeBy(ReferenceCounted received) {
        try {
            setSuccess(reader.read(received));
        } catch (Throwable t) {
            setFailure(t);
        }
    }

    void releaseMessage() {
        if (message != null) {
            try {
                message.release();
            } catch (RuntimeException e) {
                UserExceptionLog.failed("a message that was released by somebody else", e);
            }
        }
    }

    /** Notifies listeners even after the event loop has shut down. */
    @Override
    protected EventExecutor executor() {
        EventExecutor loop = keeper.loop();
        return loop.isShutdown() ? GlobalEventExecutor.INSTANCE : loop;
    }

    /** Cancels the call. The transport keeps its memory until the responder can no longer access it. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (!super.cancel(mayInterruptIfRunning)) {
            return false;
        }
        keeper.cancelled(this);
        return true;
    }
}
