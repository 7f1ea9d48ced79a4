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

    /** A call. Whoever removes it stops its timer, which may not be set yet. */
    private static final class Waiting {

        private final CompletionHandler<RpcReply, RpcTransport> handler;
        private ScheduledFuture<?> timeout;
        private boolean isEnded;

        Waiting(CompletionHandler<RpcReply, RpcTransport> handler) {
            this.handler = handler;
        }

        synchronized void timer(ScheduledFuture<?> set) {
            timeout = set;
            if (isEnded) {
                set.cancel(false);
            }
        }

        synchronized void end() {
            isEnded = true;
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
        Waiting call = new Waiting(handler);
        if (waiting.putIfAbsent(xid, call) != null) {
            throw new IllegalStateException(
                    "call with XID 0x"
                            + Integer.toHexString(xid)
                            + " (expected: one that no call of this connection waits under; the"
                            + " next call has another)");
        }
        boolean isTimed = true;
        try {
            setTimer(xid, call, timeout, unit);
        } catch (RejectedExecutionException e) {
            isTimed = false; // the event loop has ended, and the connection with it
        } catch (Throwable t) {
            waiting.remove(xid, call);
            throw t;
        }
        // Otherwise the handler was told by whoever has removed the call.
        if ((isLost || !isTimed) && waiting.remove(xid, call)) {
            call.end();
            throw lossOf(channel);
        }
    }

    /** After the call was added: the timer may be due before this returns. */
    private void setTimer(int xid, Waiting call, long timeout, TimeUnit unit) {
        if (timeout > 0 && unit != null) {
            Runnable late = () -> late(xid, call, timeout, unit);
            call.timer(channel.eventLoop().schedule(late, timeout, unit));
        }
    }

    private void late(int xid, Waiting call, long timeout, TimeUnit unit) {
        if (waiting.remove(xid, call)) {
            String what = "no reply within " + timeout + ' ' + unit;
            fail(xid, call.handler, new TimeoutException(what));
        }
    }

    /** The call is not waited for any more; {@code null} when none is under this XID. */
    @Override
    public CompletionHandler<RpcReply, RpcTransport> get(int xid) {
        Waiting call = waiting.remove(xid);
        if (call == null) {
            return null;
        }
        call.end();
        return call.handler;
    }

    /** Ends a pending call, if any; logs exceptions of its handler. */
    void fail(int xid, Throwable cause) {
        CompletionHandler<RpcReply, RpcTransport> handler = get(xid);
        if (handler != null) {
            fail(xid, handler, cause);
        }
    }

    private void fail(int xid, CompletionHandler<RpcReply, RpcTransport> handler, Throwable cause) {
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
