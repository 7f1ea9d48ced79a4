// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.Objects;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RemoteChunkException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.UserCode;
import org.rpcrdma.codec.wire.RecordMark;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * One call of an {@link RpcRdmaClient} or an {@link RpcRdmaCallback}, and the future of its reply. All but the future
 * belongs to the event loop of the calls that it is one of.
 *
 * @param <V> what was written, which is what comes back
 */
final class CallReplyFuture<V extends ReferenceCounted> extends DefaultPromise<V>
        implements Runnable {

    /** Whoever looks after calls. */
    interface Keeper {

        /** The event loop of its calls. Any thread. */
        EventLoop loop();

        /** The user has given the call up. Any thread. */
        void cancelled(CallReplyFuture<?> call);

        /** The write of a call has failed. On the event loop. */
        void writeFailed(CallReplyFuture<?> call, Throwable cause);
    }

    private final Keeper keeper;

    /** {@code null} for a call whose message there is from the beginning. */
    private final CallMarshaller<V> marshaller;

    /** {@code null} until it is encoded. */
    private V message;

    final CallOptions options;
    final long deadline;

    /** The order of submission. */
    long serial;

    int xid;
    boolean isStarted;

    /** It is sent on one channel and ends with it. */
    boolean isOfOneChannel;

    /** Where it was written last; {@code null} while it waits for a connection. */
    Channel channel;

    /** The responder may have it from that channel. */
    boolean isInDoubt;

    /** The responder may have it from an earlier channel, or with less room for its reply. */
    boolean wasSent;

    /** Why it is repeated with more room for its reply; {@code null} when it is not. */
    RemoteChunkException refusal;

    /** The connections that the responder may have it from. */
    int transmissions;

    /** Connections lost or not made while it waited. */
    int losses;

    /** What the responder had answered on the channel when it was written. */
    long answersBefore;

    /** It was refused though there was room for its reply, and is repeated as it was. */
    boolean isRepeated;

    /** The doublings of the room for its reply. */
    int growth;

    /** The most bytes that are offered for its reply after a doubling. */
    long growthMaximum = Long.MAX_VALUE;

    /** What a call that was repeated offers for its reply, at most. */
    long grownBytes;

    private V reply;
    private Throwable failure;

    /** Of a message, which is taken over, or of an marshaller. */
    CallReplyFuture(
            Keeper keeper,
            V message,
            CallMarshaller<V> marshaller,
            CallOptions options,
            long deadline) {
        super(keeper.loop());
        this.keeper = keeper;
        this.message = message;
        this.marshaller = marshaller;
        this.options = options;
        this.deadline = deadline;
    }

    /** A {@link ByteBuf} or an {@link RpcMessage}. */
    V message() {
        return message;
    }

    /**
     * Has the message there, with its XID in it.
     *
     * @return why the call cannot be sent; {@code null} when it can
     */
    Exception prepare() {
        try {
            if (marshaller == null) {
                ByteBuf payload = InternalCodec.payloadOf(message);
                payload.setInt(payload.readerIndex(), xid);
                return null;
            }
            return encode();
        } catch (Throwable t) {
            // Of the marshaller, or of a message that somebody has released.
            return InternalCodec.marshalFailure(t);
        }
    }

    private Exception encode() throws Exception {
        releaseMessage();
        message = null;
        message = Objects.requireNonNull(marshaller.marshal(xid), "encoded call");
        message = withoutMark(message);
        ByteBuf payload = InternalCodec.payloadOf(message);
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
     * A message as it was, or without the record mark of TCP (RFC 5531, 11). The codec would take it off as well, but
     * the XID has to be found before.
     *
     * @param message taken over
     */
    @SuppressWarnings("unchecked") // what was a buffer is one
    static <V extends ReferenceCounted> V withoutMark(V message) {
        return message instanceof ByteBuf call
                ? (V) RecordMark.without(call, call.alloc())
                : message;
    }

    /** Why a message cannot be made a call; {@code null} when it can: the XID is written into it. */
    static String messageProblem(ReferenceCounted message) {
        ByteBuf payload = InternalCodec.payloadOf(message);
        String problem = problem(payload);
        return problem == null && payload.isReadOnly()
                ? "call in a read-only buffer (expected: a writable one, for the XID)"
                : problem;
    }

    /** Why a message is no call; {@code null} when it is one. */
    private static String problem(ByteBuf payload) {
        return payload.readableBytes() < RpcCallHeader.MINIMUM_CALL_BYTES
                        || payload.getInt(payload.readerIndex() + 4) != RpcCallHeader.CALL
                        || payload.getInt(payload.readerIndex() + 8) != RpcCallHeader.RPC_VERSION
                ? "message of "
                        + payload.readableBytes()
                        + " bytes (expected: a call of RPC version 2, at least "
                        + RpcCallHeader.MINIMUM_CALL_BYTES
                        + " bytes, without a record mark)"
                : null;
    }

    /** Writes it once more; the call keeps its own reference. */
    void writeTo(Channel to) {
        channel = to;
        isInDoubt = true;
        transmissions++;
        message.retain();
        Object written = message;
        if (message instanceof RpcMessage annotated) {
            InternalCodec.growth(annotated, growth, growthMaximum);
        } else if (growth > 0) {
            written =
                    InternalCodec.growth(new RpcMessage((ByteBuf) message), growth, growthMaximum);
        }
        to.write(written).addListener((ChannelFutureListener) this::written);
    }

    /** It waited for a credit when the channel ended, or when it was given up there. */
    void notSent() {
        isInDoubt = false;
        transmissions--;
    }

    /** The responder has refused it, after it has perhaps executed it: it is out no more. */
    void refused() {
        channel = null;
        isInDoubt = false;
        wasSent = true;
    }

    private void written(ChannelFuture write) {
        if (!write.isSuccess() && write.channel() == channel) {
            keeper.writeFailed(this, write.cause());
        }
    }

    /** The reply has come; it is taken over. */
    @SuppressWarnings("unchecked") // the codec answers with what was written
    void answeredBy(ReferenceCounted received) {
        ReferenceCounted result = received;
        if (message instanceof ByteBuf && received instanceof RpcMessage annotated) {
            result = annotated.content().retain();
            annotated.release();
        }
        reply = (V) result;
    }

    void failedBy(Throwable cause) {
        failure = cause;
    }

    /** Tells the user what has become of the call, unless the user has given it up. */
    @Override
    public void run() {
        if (reply == null) {
            tryFailure(failure);
        } else if (!trySuccess(reply)) {
            ReferenceCountUtil.release(reply);
        }
    }

    void releaseMessage() {
        if (message != null) {
            try {
                message.release();
            } catch (RuntimeException e) {
                UserCode.failed("a message that was released by somebody else", e);
            }
        }
    }

    /** Listeners are told although the event loop has ended meanwhile. */
    @Override
    protected EventExecutor executor() {
        EventExecutor loop = keeper.loop();
        return loop.isShutdown() ? GlobalEventExecutor.INSTANCE : loop;
    }

    /** Gives the call up. Its memory stays with the transport until the responder cannot reach it any more. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (!super.cancel(mayInterruptIfRunning)) {
            return false;
        }
        keeper.cancelled(this);
        return true;
    }
}
