// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.GlobalEventExecutor;
import org.rpcrdma.codec.binding.Reduction;

/**
 * One call of an {@link RpcRdmaClient} or an {@link RpcRdmaCallback}, and the future of its reply. All but the future
 * belongs to the event loop of the calls that it is one of.
 *
 * @param <V> what was written, which is what comes back
 */
final class ClientCall<V extends ReferenceCounted> extends DefaultPromise<V> {

    private final PendingCalls calls;
    private final V message;
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

    /** The responder may have it from an earlier channel. */
    boolean wasSent;

    int transmissions;

    /** Connections lost or not made while it waited. */
    int losses;

    /** What the responder had answered on the channel when it was written. */
    long answersBefore;

    /** The doublings of the room for its reply. */
    int growth;

    /** What was offered for the reply when the responder refused it last. */
    long refused = -1;

    ClientCall(PendingCalls calls, V message, CallOptions options, long deadline) {
        super(calls.loop());
        this.calls = calls;
        this.message = message;
        this.options = options;
        this.deadline = deadline;
    }

    ByteBuf payload() {
        return RpcMessage.payloadOf(message);
    }

    /** Which arguments the payload is without. */
    Reduction reduction() {
        return message instanceof RpcMessage annotated ? annotated.reduction() : Reduction.NONE;
    }

    void xid(int newXid) {
        xid = newXid;
        ByteBuf payload = payload();
        payload.setInt(payload.readerIndex(), newXid);
    }

    /** Writes it once more; the call keeps its own reference. */
    void writeTo(Channel to) {
        channel = to;
        isInDoubt = true;
        transmissions++;
        message.retain();
        Object written = message;
        if (message instanceof RpcMessage annotated) {
            annotated.growth(growth);
        } else if (growth > 0) {
            written = new RpcMessage((ByteBuf) message).growth(growth);
        }
        to.write(written).addListener((ChannelFutureListener) this::written);
    }

    private void written(ChannelFuture write) {
        if (!write.isSuccess() && write.channel() == channel) {
            calls.writeFailed(this, write.cause());
        }
    }

    /** Completes the future with a reply, which is taken over. */
    @SuppressWarnings("unchecked") // the codec answers with what was written
    void succeed(ReferenceCounted reply) {
        Object result = reply;
        if (message instanceof ByteBuf && reply instanceof RpcMessage annotated) {
            result = annotated.content().retain();
            annotated.release();
        }
        if (!trySuccess((V) result)) {
            ReferenceCountUtil.release(result);
        }
    }

    void releaseMessage() {
        message.release();
    }

    /** Listeners are told although the event loop has ended meanwhile. */
    @Override
    protected EventExecutor executor() {
        EventExecutor loop = calls.loop();
        return loop.isShutdown() ? GlobalEventExecutor.INSTANCE : loop;
    }

    /** Gives the call up. Its memory stays with the transport until the responder cannot reach it any more. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (!super.cancel(mayInterruptIfRunning)) {
            return false;
        }
        calls.cancelled(this);
        return true;
    }
}
