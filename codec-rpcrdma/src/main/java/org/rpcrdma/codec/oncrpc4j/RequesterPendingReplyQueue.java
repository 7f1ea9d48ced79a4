// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import io.netty.channel.Channel;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.EOFException;
import java.net.SocketAddress;
import java.nio.channels.CompletionHandler;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.dcache.oncrpc4j.rpc.ReplyQueue;
import org.dcache.oncrpc4j.rpc.RpcReply;
import org.dcache.oncrpc4j.rpc.RpcTransport;

/**
 * The calls from here that wait for their replies, of one connection. A queue of oncrpc4j tells connections apart by
 * the local address, which all accepted ones share, and calls by the XID alone, which two {@code RpcCall} may both
 * choose: in a shared one the loss of a client would fail the calls to all others, and a client could answer calls to
 * others. It also begins a thread for time-outs, which are the event loop's here. Any thread.
 */
final class RequesterPendingReplyQueue extends ReplyQueue {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(RequesterPendingReplyQueue.class);

    private final Channel channel;
    private final ConcurrentMap<Integer, Waiting> waiting = new ConcurrentHashMap<>();
    private volatile boolean isLost;

    private record Waiting(
            CompletionHandler<RpcReply, RpcTransport> handler, ScheduledFuture<?> timeout) {
        void stopTimer() {
            if (timeout != null) {
                timeout.cancel(false);
            }
        }
    }

    RequesterPendingReplyQueue(Channel channel) {
        this.channel = channel;
        super.shutdown(); // its thread is not needed
    }

    @Override
    public void registerKey(
            int xid,
            SocketAddress address,
            CompletionHandler<RpcReply, RpcTransport> handler,
            long timeout,
            TimeUnit unit)
            throws EOFException {
        Waiting call = new Waiting(handler, timer(xid, timeout, unit));
        if (waiting.putIfAbsent(xid, call) != null) {
            call.stopTimer();
            throw new IllegalStateException(
                    "call with XID 0x"
                            + Integer.toHexString(xid)
                            + " (expected: one that no call of this connection waits under; the"
                            + " next call has another)");
        }
        if (isLost && waiting.remove(xid, call)) {
            call.stopTimer();
            throw lossOf(channel);
        }
    }

    /** {@code null} for a call that waits as long as the connection lasts. */
    private ScheduledFuture<?> timer(int xid, long timeout, TimeUnit unit) throws EOFException {
        if (timeout <= 0 || unit == null) {
            return null;
        }
        try {
            return channel.eventLoop().schedule(() -> late(xid, timeout, unit), timeout, unit);
        } catch (RejectedExecutionException e) {
            throw lossOf(channel); // with its event loop
        }
    }

    private void late(int xid, long timeout, TimeUnit unit) {
        fail(xid, new TimeoutException("no reply within " + timeout + ' ' + unit));
    }

    /** The call is not waited for any more; {@code null} when none is under this XID. */
    @Override
    public CompletionHandler<RpcReply, RpcTransport> get(int xid) {
        Waiting call = waiting.remove(xid);
        if (call == null) {
            return null;
        }
        call.stopTimer();
        return call.handler();
    }

    /** Ends a pending call, if any; logs exceptions of its handler. */
    void fail(int xid, Throwable cause) {
        CompletionHandler<RpcReply, RpcTransport> handler = get(xid);
        if (handler == null) {
            return;
        }
        try {
            handler.failed(cause, null);
        } catch (Throwable t) {
            logger.warn("{} XID 0x{}: a handler has thrown", channel, Integer.toHexString(xid), t);
        }
    }

    private static EOFException lossOf(Channel channel) {
        return new EOFException("the connection was lost: " + channel);
    }

    /** No reply comes any more, on this connection, whatever its address. */
    @Override
    public void handleDisconnect(SocketAddress address) {
        isLost = true;
        EOFException cause = lossOf(channel);
        waiting.keySet().forEach(xid -> fail(xid, cause));
    }

    @Override
    public void shutdown() {
        handleDisconnect(null);
    }
}
