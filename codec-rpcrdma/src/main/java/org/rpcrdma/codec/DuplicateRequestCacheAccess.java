// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.ScheduledFuture;
import java.net.InetAddress;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.internal.XidHashMap;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Calls of one connection that a {@link DuplicateRequestCache} covers: those that handlers are executing, and those
 * that wait for the answer to an earlier transmission. Outlives its connection until the handlers have answered.
 */
final class DuplicateRequestCacheAccess {

    /** Bytes of the arguments that the checksum of a call covers, besides its header. */
    private static final int CHECKED_ARGUMENT_BYTES = 256;

    /** Receives the outcome of a duplicate call. On the event loop. */
    interface Target {
        /** The reply is owned by the target. */
        void replay(InboundCallState call, ByteBuf reply);

        void execute(InboundCallState call);
    }

    private final ConnectionSharedState link;
    private final DuplicateRequestCache cache;
    private final Target target;
    private final CRC32C crc = new CRC32C();

    /** Calls that a handler has to answer, by XID. */
    private final XidHashMap<DuplicateRequestCache.Call> executing = new XidHashMap<>();

    /** Calls that wait for the answer to an earlier transmission, by XID. */
    private final XidHashMap<Waiting> waiting = new XidHashMap<>();

    /** Timer that ends the wait for late answers; {@code null} while the connection is open. */
    private ScheduledFuture<?> lastCall;

    DuplicateRequestCacheAccess(
            ConnectionSharedState link, DuplicateRequestCache cache, Target target) {
        this.link = link;
        this.cache = cache;
        this.target = target;
    }

    /**
     * Tries to admit a call to the handlers. A call that is not admitted is answered from the cache, or waits; {@code
     * served} keeps its message.
     */
    boolean tryAdmit(InboundCallState served, OncRpcHeaderDecoder rpc) {
        if (!cache.covers(rpc.program, rpc.version, rpc.procedure)) {
            return true;
        }
        InetAddress client = link.channel.remoteAddress().getAddress();
        DuplicateRequestCache.Call call =
                new DuplicateRequestCache.Call(
                        client,
                        served.xid,
                        rpc.program,
                        rpc.version,
                        rpc.procedure,
                        served.request.wholeLength(),
                        checksum(served, rpc.argumentsIndex));
        Waiting waiter = new Waiting(served, call);
        DuplicateRequestCache.Lookup found = cache.begin(call, waiter);
        switch (found.progress()) {
            case NEW -> execute(served, call);
            case IN_PROGRESS -> {
                waiting.put(served.xid, waiter);
                link.metrics.increment(RpcRdmaCounter.DUPLICATES_WAITING);
            }
            case DONE -> {
                served.request.release();
                replay(served, found.reply());
            }
            default -> throw new IllegalStateException(found.progress().toString());
        }
        return found.progress() == DuplicateRequestCache.Progress.NEW;
    }

    private void execute(InboundCallState served, DuplicateRequestCache.Call call) {
        try {
            executing.put(served.xid, call);
        } catch (Throwable t) {
            abandon(call); // without heap for an entry nobody else ends it there
            throw t;
        }
    }

    /**
     * Checksum of the header and the first arguments, the same whether items came inline or in chunks. A client chooses
     * the length of its credential: alone, it must not fill what is checked.
     */
    private int checksum(InboundCallState served, int argumentsIndex) {
        int header = argumentsIndex - served.request.message.readerIndex();
        crc.reset();
        served.request.forEachByte(
                Math.min(header + CHECKED_ARGUMENT_BYTES, served.request.wholeLength()),
                octet -> {
                    crc.update(octet);
                    return true;
                });
        return (int) crc.getValue();
    }

    private void replay(InboundCallState served, ByteBuf reply) {
        link.metrics.increment(RpcRdmaCounter.DUPLICATES_REPLAYED);
        target.replay(served, reply);
    }

    /**
     * A handler has answered; the message stays with the caller.
     *
     * @param parts the items that the user has kept apart from the payload; the cached copy contains them
     */
    void answered(int xid, ByteBuf payload, RpcMessage parts) {
        DuplicateRequestCache.Call call = executing.remove(xid);
        if (call == null) {
            return;
        }
        if (parts.items() == 0) {
            done(call, payload);
        } else {
            answeredInParts(call, parts);
        }
        cancelTimerIfIdle();
    }

    /**
     * A call ends here without a reply: it failed before its handler received it, or the handler has dropped it. The
     * cache lets a retransmission execute, which nobody else answers.
     */
    void unanswered(int xid) {
        DuplicateRequestCache.Call call = executing.remove(xid);
        if (call == null) {
            return;
        }
        abandon(call);
        cancelTimerIfIdle();
    }

    private void cancelTimerIfIdle() {
        if (lastCall != null && executing.isEmpty()) {
            lastCall.cancel(false);
        }
    }

    private void answeredInParts(DuplicateRequestCache.Call call, RpcMessage message) {
        ByteBuf whole;
        try {
            whole = message.view(); // the cache copies what it keeps
        } catch (Throwable t) {
            abandon(call); // no heap: a retransmission is executed again
            return;
        }
        done(call, whole);
        whole.release();
    }

    /** Stores a reply. An exception of the cache loses the entry, not the answer to the call. */
    private void done(DuplicateRequestCache.Call call, ByteBuf reply) {
        try {
            cache.done(call, reply);
        } catch (Throwable t) {
            UserExceptionLog.failed("DuplicateRequestCache.done", t);
        }
    }

    private void abandon(DuplicateRequestCache.Call call) {
        try {
            cache.abandon(call);
        } catch (Throwable t) {
            UserExceptionLog.failed("DuplicateRequestCache.abandon", t);
        }
    }

    private void withdraw(Waiting waiter) {
        try {
            cache.withdraw(waiter.call, waiter);
        } catch (Throwable t) {
            UserExceptionLog.failed("DuplicateRequestCache.withdraw", t);
        }
    }

    /** A handler wrote a message after the connection was lost; the caller keeps the message. */
    void answeredLate(Object written) {
        RpcMessage parts = RpcMessage.partsOf(written);
        ByteBuf payload = RpcMessage.payloadOf(written);
        if (parts.problem() == null
                && OncRpcHeaderDecoder.isOfType(payload, OncRpcHeaderDecoder.REPLY)) {
            answered(payload.getInt(payload.readerIndex()), payload, parts);
        }
    }

    boolean isExecuting() {
        return !executing.isEmpty();
    }

    /** The connection is lost. Handlers may still be executing calls, which must not be executed twice. */
    void close() {
        waiting.values().forEach(this::withdraw);
        waiting.clear();
        if (executing.isEmpty() || lastCall != null) {
            return;
        }
        try {
            lastCall =
                    link.channel
                            .eventLoop()
                            .schedule(
                                    () -> {},
                                    link.config().lateReplyMillis(),
                                    TimeUnit.MILLISECONDS);
            // An event loop that shuts down cancels its scheduled tasks.
            lastCall.addListener(over -> abandonAll());
        } catch (RejectedExecutionException e) {
            abandonAll();
        }
    }

    private void abandonAll() {
        DuplicateRequestCache.Call[] calls =
                executing.values().toArray(new DuplicateRequestCache.Call[0]);
        executing.clear();
        for (DuplicateRequestCache.Call call : calls) {
            abandon(call);
        }
    }

    /** A call that waits for the answer to an earlier transmission. */
    private final class Waiting implements DuplicateRequestCache.Waiter {
        private final InboundCallState served;
        private final DuplicateRequestCache.Call call;

        Waiting(InboundCallState served, DuplicateRequestCache.Call call) {
            this.served = served;
            this.call = call;
        }

        /** Stops waiting; {@code false} when the connection was lost, which has withdrawn all waiters. */
        private boolean tryRemove() {
            return waiting.remove(call.xid(), this);
        }

        @Override
        public void answered(ByteBuf reply) {
            boolean isTaken =
                    tryExecute(
                            () -> {
                                if (tryRemove()) {
                                    served.request.release();
                                    replay(served, reply);
                                } else {
                                    reply.release();
                                }
                            });
            if (!isTaken) {
                reply.release();
            }
        }

        @Override
        public void abandoned() {
            boolean isTaken =
                    tryExecute(
                            () -> {
                                if (tryRemove()) {
                                    takeOver();
                                } else {
                                    abandon(call);
                                }
                            });
            if (!isTaken) {
                abandon(call);
            }
        }

        private void takeOver() {
            try {
                execute(served, call);
            } catch (Throwable t) {
                served.request.release();
                link.closeNow("there is no memory to execute a call", t);
                return;
            }
            target.execute(served);
        }

        /**
         * Runs a task on the event loop; {@code false} when the loop has ended, and the connection with it, or for lack
         * of memory.
         */
        private boolean tryExecute(Runnable task) {
            try {
                link.channel.eventLoop().execute(task);
                return true;
            } catch (RejectedExecutionException | OutOfMemoryError e) {
                return false;
            }
        }
    }
}
