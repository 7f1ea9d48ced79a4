// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ScheduledFuture;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Probes on the connecting side whether the responder speaks version 2 (draft, 5): sends an RPC NULL call of the same
 * program in version 2 and holds the calls of the user. The answer settles the version; then this handler writes the
 * held calls and removes itself. The other stages never see two versions.
 */
final class VersionTwoProbeHandler extends DirectlyLinkedStageHandler {

    /**
     * Distinguishes the XIDs of the NULL call and the first call of the user, for the duplicate request cache of the
     * responder.
     */
    private static final int OTHER_XID = 0x80000000;

    private static final int PROGRAM_INDEX = 12;
    private static final int VERSION_INDEX = 16;

    private record Held(Object message, int xid, ChannelPromise promise) {}

    private enum State {
        /** No call was written yet. */
        IDLE,
        /** The NULL call is in flight. */
        PROBING,
        /** Held calls are being written. Their listeners may write more calls, which are appended. */
        SETTLING,
        /** No calls are held. */
        OVER
    }

    private final RpcRdmaConnection connection;
    private final ConnectionSharedState link;
    private final Queue<Held> held = new ArrayDeque<>();
    private State state = State.IDLE;
    private ScheduledFuture<?> timeout;
    private int probe;

    VersionTwoProbeHandler(RpcRdmaConnection connection) {
        this.connection = connection;
        link = connection.link();
    }

    // ------------------------------------------------------------------ written

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (state == State.OVER || connection.writeProblem() != null) {
            // The write fails in a later stage, and the duplicate request cache may store a reply.
            toNetwork(message, promise);
        } else if (message instanceof RpcRdmaCancel cancel && tryCancelHeld(cancel)) {
            promise.trySuccess();
        } else if (message instanceof ByteBuf bytes) {
            hold(ctx, OutboundRecordMarkDetector.without(bytes, ctx.alloc()), promise);
        } else {
            hold(ctx, message, promise);
        }
    }

    private void hold(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ByteBuf call = callOf(message);
        boolean isOption = message instanceof OptionalOperationMessage option && !option.isReply();
        if (call == null && !isOption) {
            toNetwork(message, promise); // other stages handle or refuse it
            return;
        }
        if (state == State.IDLE && link.isVersionRemembered()) {
            settle(ctx, TransportHeader.VERSION_ONE);
            toNetwork(message, promise);
            return;
        }
        int limit = link.config().maxQueuedCalls(); // plus the one about to be sent
        if (held.size() > limit) {
            ReferenceCountUtil.release(message);
            promise.tryFailure(new CallQueueFullException(limit));
            return;
        }
        int xid =
                call == null
                        ? ((OptionalOperationMessage) message).xid()
                        : call.getInt(call.readerIndex());
        held.add(new Held(message, xid, promise));
        if (state == State.IDLE) {
            probe(ctx, xid ^ OTHER_XID, call);
        }
    }

    /** A whole RPC call; {@code null} for anything else. */
    private static ByteBuf callOf(Object message) {
        ByteBuf call = RpcMessage.payloadOf(message);
        return OncRpcHeaderDecoder.isOfType(call, OncRpcHeaderDecoder.CALL) ? call : null;
    }

    /** Sends the first message: without side effects, and short enough for any threshold (draft, 5 and 5.2). */
    private void probe(ChannelHandlerContext ctx, int xid, ByteBuf call) {
        state = State.PROBING;
        probe = xid;
        ByteBuf nullCall =
                ctx.alloc().directBuffer(OncRpcHeaderDecoder.MINIMUM_CALL_BYTES).writeInt(xid);
        nullCall.writeInt(OncRpcHeaderDecoder.CALL).writeInt(OncRpcHeaderDecoder.RPC_VERSION);
        if (call == null || call.readableBytes() < VERSION_INDEX + 4) {
            nullCall.writeLong(0); // any answer suffices, also PROG_UNAVAIL
        } else {
            nullCall.writeInt(call.getInt(call.readerIndex() + PROGRAM_INDEX));
            nullCall.writeInt(call.getInt(call.readerIndex() + VERSION_INDEX));
        }
        nullCall.writeZero(OncRpcHeaderDecoder.MINIMUM_CALL_BYTES - nullCall.readableBytes());
        link.versions.proposeTwo();
        timeout =
                ctx.executor()
                        .schedule(
                                this::unanswered,
                                link.config().versionTwo().probeTimeoutNanos(),
                                TimeUnit.NANOSECONDS);
        ctx.writeAndFlush(nullCall)
                .addListener(
                        sent -> {
                            if (!sent.isSuccess()) {
                                notSent(sent.cause());
                            }
                        });
    }

    /**
     * The NULL call could not be sent, for lack of memory for example: closes the connection unless it is already lost.
     */
    private void notSent(Throwable cause) {
        if (!(cause instanceof WorkRequestFailedException
                || cause instanceof ClosedChannelException)) {
            link.closeNow("the first message of version 2 could not be sent", cause);
        }
    }

    /** Fails a held call; {@code false} if the call is not held. */
    private boolean tryCancelHeld(RpcRdmaCancel cancel) {
        for (Held call : held) {
            if (call.xid() == cancel.xid()) {
                held.remove(call);
                link.metrics.increment(RpcRdmaCounter.CALLS_CANCELLED);
                ReferenceCountUtil.release(call.message());
                call.promise().tryFailure(cancel.exception());
                return true;
            }
        }
        return false;
    }

    // ------------------------------------------------------------------ answered

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        boolean isProbing = state == State.PROBING;
        if (isProbing && message instanceof CallFailureMessage failure && failure.xid() == probe) {
            refused(ctx, failure.cause());
        } else if (isProbing && isAnswer(message)) {
            ReferenceCountUtil.release(message);
            settle(ctx, TransportHeader.VERSION_TWO);
        } else {
            toUser(message);
        }
    }

    private boolean isAnswer(Object message) {
        ByteBuf reply = RpcMessage.payloadOf(message);
        return OncRpcHeaderDecoder.isOfType(reply, OncRpcHeaderDecoder.REPLY)
                && reply.getInt(reply.readerIndex()) == probe;
    }

    /** ERR_VERS without a common version ends the connection; the responder is not probed again. */
    private void refused(ChannelHandlerContext ctx, RpcRdmaException cause) {
        link.rememberVersionOne();
        if (cause instanceof ErrVersReplyException range && !range.contains(1)) {
            stop(State.OVER);
            link.closeNow(cause.getMessage(), null);
            fail(cause);
        } else {
            settle(ctx, TransportHeader.VERSION_ONE);
        }
    }

    private void settle(ChannelHandlerContext ctx, int version) {
        stop(State.SETTLING);
        link.versions.settle(version);
        for (Held call = held.poll(); call != null; call = held.poll()) {
            ctx.write(call.message(), call.promise());
        }
        state = State.OVER;
        ctx.flush();
        leave();
    }

    private void unanswered() {
        timeout = null;
        connection.closeUnanswered("the responder does not answer the first message of version 2");
    }

    // ------------------------------------------------------------------ end

    private void stop(State next) {
        state = next;
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
    }

    /** A close by this side tells nothing about the responder. */
    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        stop(State.OVER);
        ctx.close(promise);
    }

    /** The connection was lost before the answer: the probe may have crashed the responder (draft, 5.2). */
    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (state == State.PROBING) {
            link.rememberVersionOne();
        }
        end();
        ctx.fireChannelInactive();
    }

    @Override
    void removed(ChannelHandlerContext ctx) {
        end();
    }

    private void end() {
        stop(State.OVER);
        if (!held.isEmpty()) {
            fail(new CallNotSentException());
        }
    }

    private void fail(Exception cause) {
        for (Held call = held.poll(); call != null; call = held.poll()) {
            ReferenceCountUtil.release(call.message());
            call.promise().tryFailure(cause);
        }
    }
}
