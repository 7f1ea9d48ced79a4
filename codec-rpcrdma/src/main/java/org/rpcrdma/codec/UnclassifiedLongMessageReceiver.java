// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Pulls the long messages of version 1 in a Position Zero Read chunk that may be a call of the peer or a reply to an
 * outbound call, and acts on the states of each {@link UnclassifiedLongMessageState}.
 */
final class UnclassifiedLongMessageReceiver {

    private final ConnectionSharedState link;
    private final RequesterState requester;
    private final ResponderState responder;
    private final UnclassifiedLongMessages messages;
    private final InboundChunkListValidator checks;
    private final InboundMessageRefuser errors;
    private final InboundCallAdmission calls;
    private final InboundReplyReceiver replies;
    private final ObjectPool<UnclassifiedLongMessageState> spares =
            new ObjectPool<>(UnclassifiedLongMessageState::new);
    private final CallOrReplyReadListPull.Taker whenPulled = this::pulled;

    UnclassifiedLongMessageReceiver(
            RpcRdmaConnection connection,
            InboundChunkListValidator checks,
            InboundMessageRefuser errors,
            InboundCallAdmission calls,
            InboundReplyReceiver replies) {
        link = connection.link();
        requester = connection.requester();
        responder = connection.responder();
        messages = connection.unclassified();
        this.checks = checks;
        this.errors = errors;
        this.calls = calls;
        this.replies = replies;
    }

    /** The most messages with one XID: a call and a reply (RFC 8167, 2.4). */
    private static final int MOST_OF_ONE_XID = 2;

    /**
     * Whether only the payload tells call from reply. A message that looks like a long call is a reply if the peer may
     * not send long calls, or if the call with this XID is already in progress.
     */
    boolean covers(TransportHeader header) {
        return header.version() == TransportHeader.VERSION_ONE
                && isPulledReply(header)
                && responder.credits != null
                && responder.call(header.xid()) == null
                && (link.takesChunks() || requester.call(header.xid()) == null);
    }

    /** Whether a long message in a Position Zero Read chunk may be a reply on this connection. */
    boolean isPulledReply(TransportHeader header) {
        return header.proc() == TransportHeader.RDMA_NOMSG
                && header.reads().hasChunkAt(0)
                && link.takesReadChunkReplies(header.version());
    }

    /**
     * Receives a message for which {@link #covers} is true. Like a call, it may wait for memory. It is counted as a
     * call only once it is known to be one, so the messages until then have a bound of their own.
     */
    void receive(ChannelHandlerContext ctx, ByteBuf message, TransportHeader header, int payload) {
        boolean isAwaited = isReplyAwaited(header.xid());
        int others = messages.sizeOf(header.xid());
        if (isOverrun()) {
            link.report(header.xid(), overrun());
            return;
        }
        if (others == MOST_OF_ONE_XID) {
            link.drop(
                    RpcRdmaCounter.DROPPED_DUPLICATE_XID,
                    header.xid(),
                    "third long message of an XID (expected: a call and a reply)");
            return;
        }
        InboundMessageRefusal refusal = errors.ofChunks(header, !isAwaited);
        if (refusal != null) {
            errors.refuse(ctx, header, refusal);
            return;
        }
        // Of two with an awaited XID either may be the reply, which must not wait for calls.
        InboundPullMemoryBudget pulls = isAwaited ? requester.pulls() : responder.pulls();
        CallOrReplyReadListPull pull = pulls.of(header.xid(), !isAwaited || others > 0);
        UnclassifiedLongMessageState unclassified = spares.take().begin(pull);
        refusal = checks.call(message, header, payload, pull.layout());
        switch (unclassified.headerChecked(refusal == null, isAwaited)) {
            case REPLY -> {
                end(unclassified).free();
                handOn(ctx, replies.receive(ctx, message, header, payload));
            }
            case REFUSED -> {
                end(unclassified).free();
                errors.refuse(ctx, header, refusal);
            }
            default -> {
                pull.header().swap(header);
                UnclassifiedLongMessageState.Memory memory =
                        firstMemory(ctx, unclassified, isAwaited);
                proceed(ctx, unclassified, unclassified.memoryAsked(memory, isAwaited));
            }
        }
    }

    private boolean isReplyAwaited(int xid) {
        return requester.unanswered(xid) != null;
    }

    /**
     * Whether there are as many messages of unknown kind as the peer may have calls and replies in flight: each is one
     * or the other (RFC 8166, 3.3.1).
     */
    private boolean isOverrun() {
        return messages.size() >= mostUnclassified();
    }

    private int mostUnclassified() {
        return responder.credits.maximum
                + (requester.credits == null ? 0 : requester.credits.inFlight);
    }

    private InboundMessageRefusal overrun() {
        return InboundMessageRefusal.close(
                RpcRdmaCounter.CREDIT_OVERRUNS,
                "the peer has "
                        + (messages.size() + 1)
                        + " long messages in flight that may be calls or replies (expected: at most"
                        + " the "
                        + mostUnclassified()
                        + " that credits and calls in flight permit)");
    }

    private UnclassifiedLongMessageState.Memory firstMemory(
            ChannelHandlerContext ctx, UnclassifiedLongMessageState message, boolean isAwaited) {
        CallOrReplyReadListPull pull = message.pull();
        InboundPullMemoryBudget pulls = pull.budget();
        if (pulls.mustHold(pull)) {
            pulls.hold(pull, () -> memoryIsBack(ctx, message));
            return UnclassifiedLongMessageState.Memory.LATER;
        }
        if (pull.tryAllocate()) {
            return UnclassifiedLongMessageState.Memory.TAKEN;
        }
        if (!isAwaited && pulls.canFit(pull)) {
            pulls.retry(pull, () -> memoryIsBack(ctx, message));
            return UnclassifiedLongMessageState.Memory.LATER;
        }
        return UnclassifiedLongMessageState.Memory.NONE;
    }

    /** Memory was released for which a message waits; it may still not suffice. */
    private void memoryIsBack(ChannelHandlerContext ctx, UnclassifiedLongMessageState message) {
        CallOrReplyReadListPull pull = message.pull();
        boolean isAwaited = isReplyAwaited(pull.xid());
        // Where the reply has come without it, it is a call, for which no reply must wait.
        UnclassifiedLongMessageState.State next =
                isAwaited || pull.isOfCall()
                        ? message.memoryAsked(nextMemory(ctx, message, isAwaited), isAwaited)
                        : message.replyCame();
        proceed(ctx, message, next);
        if (next == UnclassifiedLongMessageState.State.REPLY
                || next == UnclassifiedLongMessageState.State.CALL) {
            ctx.fireChannelReadComplete();
        }
        link.flushes().flushRequested();
    }

    private UnclassifiedLongMessageState.Memory nextMemory(
            ChannelHandlerContext ctx, UnclassifiedLongMessageState message, boolean isAwaited) {
        CallOrReplyReadListPull pull = message.pull();
        if (pull.tryAllocate()) {
            return UnclassifiedLongMessageState.Memory.TAKEN;
        }
        if (isAwaited) {
            return UnclassifiedLongMessageState.Memory.NONE;
        }
        pull.budget().retry(pull, () -> memoryIsBack(ctx, message));
        return UnclassifiedLongMessageState.Memory.LATER;
    }

    /** All Reads have ended. */
    private void pulled(ChannelHandlerContext ctx, CallOrReplyReadListPull pull) {
        UnclassifiedLongMessageState message = messages.get(pull);
        boolean isWhole = pull.isWhole();
        proceed(ctx, message, message.pulled(isWhole, isWhole ? pull.memory().getInt(4) : 0));
        if (isWhole) {
            ctx.fireChannelReadComplete();
            link.flushes().flushRequested();
        }
    }

    /** Acts on the state that a message has entered. */
    private void proceed(
            ChannelHandlerContext ctx,
            UnclassifiedLongMessageState message,
            UnclassifiedLongMessageState.State state) {
        CallOrReplyReadListPull pull = message.pull();
        int xid = pull.xid();
        switch (state) {
            case WAITING -> add(message);
            case PULLING -> {
                add(message);
                pull.read(ctx, pull.header().reads(), null, whenPulled);
            }
            case CALL -> handOn(ctx, calls.take(ctx, end(message)));
            case REPLY -> {
                String notPulled = pull.isWhole() ? null : pull.noMemory();
                handOn(ctx, replies.take(ctx, end(message), notPulled));
            }
            case REFUSED -> {
                errors.refuse(
                        ctx, pull.header(), InboundMessageRefusal.chunkError(pull.noMemory()));
                end(message).free();
            }
            case LOST -> {
                end(message).free();
                link.report(xid, InboundMessageRefusal.readFailed());
            }
            default -> throw new IllegalStateException(state.toString());
        }
    }

    private void add(UnclassifiedLongMessageState message) {
        try {
            messages.add(message);
        } catch (Throwable t) {
            link.closeNow("a long message cannot be kept", t);
            if (message.state() == UnclassifiedLongMessageState.State.PULLING) {
                message.pull().free(); // without heap for an entry nobody else frees its memory
            }
            throw t;
        }
    }

    /** Removes a message whose kind is known. */
    private CallOrReplyReadListPull end(UnclassifiedLongMessageState message) {
        CallOrReplyReadListPull pull = message.pull();
        messages.remove(message);
        spares.give(message.begin(null));
        return pull;
    }

    private static void handOn(ChannelHandlerContext ctx, Object call) {
        if (call != null) {
            ctx.fireChannelRead(call);
        }
    }
}
