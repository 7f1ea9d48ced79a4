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
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.wire.RpcCallHeader;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Finds out on a connection that was made from here whether the responder speaks version 2 (draft, 5): the first
 * call of the user waits, and others behind it, while an RPC NULL call of the same program goes ahead in version 2.
 * With the answer the version is settled, what has waited is written, and this handler leaves. The others never see
 * two versions.
 */
final class VersionTwoProbeHandler extends CodecStageHandler {

    /** The NULL call and the first call of the user may both end up in a duplicate request cache. */
    private static final int OTHER_XID = 0x80000000;

    private static final int PROGRAM_INDEX = 12;
    private static final int VERSION_INDEX = 16;

    private record Held(Object message, int xid, ChannelPromise promise) {}

    private enum State {
        /** Nothing was called yet. */
        IDLE,
        /** The NULL call is out. */
        PROBING,
        /** What has waited is being written: whoever is told of that may write more, which goes behind it. */
        SETTLING,
        /** Nothing more is held. */
        OVER
    }

    private final RpcRdmaConnection connection;
    private final ConnectionContext link;
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
            // It fails there, and may be seen by the duplicate request cache.
            toNetwork(message, promise);
        } else if (message instanceof RpcRdmaCancel cancel && cancelHeld(cancel)) {
            promise.trySuccess();
        } else {
            hold(ctx, message, promise);
        }
    }

    private void hold(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ByteBuf call = callOf(message);
        boolean isOption = message instanceof RpcRdmaOption option && !option.isReply();
        if (call == null && !isOption) {
            toNetwork(message, promise); // whatever it is, the other handlers know it or refuse it
            return;
        }
        if (state == State.IDLE && link.isVersionRemembered()) {
            settle(ctx, TransportHeader.VERSION_ONE);
            toNetwork(message, promise);
            return;
        }
        int limit = link.config().maxQueuedCalls(); // and one that is about to be sent
        if (held.size() > limit) {
            ReferenceCountUtil.release(message);
            promise.tryFailure(new CallQueueFullException(limit));
            return;
        }
        int xid = call == null ? ((RpcRdmaOption) message).xid() : call.getInt(call.readerIndex());
        held.add(new Held(message, xid, promise));
        if (state == State.IDLE) {
            probe(ctx, xid ^ OTHER_XID, call);
        }
    }

    /** A whole RPC call; {@code null} for anything else. */
    private static ByteBuf callOf(Object message) {
        ByteBuf call = RpcMessage.payloadOf(message);
        return RpcCallHeader.isOfType(call, RpcCallHeader.CALL) ? call : null;
    }

    /** The first message: without side effects, and short whatever the threshold is (draft, 5 and 5.2). */
    private void probe(ChannelHandlerContext ctx, int xid, ByteBuf call) {
        state = State.PROBING;
        probe = xid;
        ByteBuf nullCall = ctx.alloc().directBuffer(RpcCallHeader.MINIMUM_CALL_BYTES).writeInt(xid);
        nullCall.writeInt(RpcCallHeader.CALL).writeInt(RpcCallHeader.RPC_VERSION);
        if (call == null || call.readableBytes() < VERSION_INDEX + 4) {
            nullCall.writeLong(0); // any answer will do, also that there is no such program
        } else {
            nullCall.writeInt(call.getInt(call.readerIndex() + PROGRAM_INDEX));
            nullCall.writeInt(call.getInt(call.readerIndex() + VERSION_INDEX));
        }
        nullCall.writeZero(RpcCallHeader.MINIMUM_CALL_BYTES - nullCall.readableBytes());
        link.versions().proposeTwo();
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

    /** For want of memory, for example; a connection that is lost under it ends by itself. */
    private void notSent(Throwable cause) {
        if (!(cause instanceof RdmaException || cause instanceof ClosedChannelException)) {
            link.closeNow("the first message of version 2 could not be sent", cause);
        }
    }

    /** Fails a call that is held; {@code false} when it is not. */
    private boolean cancelHeld(RpcRdmaCancel cancel) {
        for (Held call : held) {
            if (call.xid() == cancel.xid()) {
                held.remove(call);
                link.metrics().increment(RpcRdmaCounter.CALLS_CANCELLED);
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
        if (isProbing && message instanceof RpcRdmaFailure failure && failure.xid() == probe) {
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
        return RpcCallHeader.isOfType(reply, RpcCallHeader.REPLY)
                && reply.getInt(reply.readerIndex()) == probe;
    }

    /** ERR_VERS without any version that is spoken here ends the connection; nobody has to be asked again. */
    private void refused(ChannelHandlerContext ctx, RpcRdmaException cause) {
        link.rememberVersionOne();
        if (cause instanceof UnsupportedVersionException range && !range.contains(1)) {
            stop(State.OVER);
            link.closeNow(cause.getMessage(), null);
            fail(cause);
        } else {
            settle(ctx, TransportHeader.VERSION_ONE);
        }
    }

    private void settle(ChannelHandlerContext ctx, int version) {
        stop(State.SETTLING);
        link.versions().settle(version);
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

    /** Whoever closes here says nothing about the responder. */
    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        stop(State.OVER);
        ctx.close(promise);
    }

    /** A connection that is lost before the answer came: the responder may have died of the question (draft, 5.2). */
    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (state == State.PROBING) {
            link.rememberVersionOne();
        }
        end();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        end();
    }

    private void end() {
        stop(State.OVER);
        if (!held.isEmpty()) {
            fail(new NotSentException());
        }
    }

    private void fail(Exception cause) {
        for (Held call = held.poll(); call != null; call = held.poll()) {
            ReferenceCountUtil.release(call.message());
            call.promise().tryFailure(cause);
        }
    }
}
