// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.net.InetAddress;

/**
 * Keeps replies, so that a call retransmitted after its connection was lost is answered and not executed again (RFC
 * 5531, 4). It keeps RPC messages without transport headers: a replayed reply uses the chunks and the credit of the
 * retransmission.
 *
 * <p>Methods are called on the event loops of all connections that share the cache: they must be thread-safe and must
 * not block.
 */
public interface DuplicateRequestCache {

    /**
     * Identity of a call. The client is an address without a port, because a client may reconnect from another port.
     *
     * @param client the peer's address
     * @param xid of the call
     * @param program unsigned
     * @param version unsigned
     * @param procedure unsigned
     * @param length bytes of the RPC message
     * @param checksum of the beginning of the RPC message, so that a reused XID is not mistaken for the old call
     */
    record Call(
            InetAddress client,
            int xid,
            int program,
            int version,
            int procedure,
            int length,
            int checksum) {}

    /** Progress of a call. */
    enum Progress {
        /** Not in the cache: the call is in progress from now on, and the caller executes it. */
        NEW,
        /** A handler is executing the call. */
        IN_PROGRESS,
        /** The cache has the reply. */
        DONE
    }

    /**
     * The answer to {@link #begin}.
     *
     * @param progress progress of the call
     * @param reply the RPC message when it is done, owned by the caller; otherwise {@code null}
     */
    record Lookup(Progress progress, ByteBuf reply) {}

    /** Waits for the end of a call in progress. One of the two methods is called, once, on any thread. */
    interface Waiter {

        /**
         * The first call was answered.
         *
         * @param reply the RPC message, owned by this waiter
         */
        void answered(ByteBuf reply);

        /** The executing connection has abandoned the call. It stays in progress; this waiter now executes it. */
        void abandoned();
    }

    /**
     * {@return whether calls of that procedure are remembered} Idempotent procedures need not be.
     *
     * @param program unsigned
     * @param version unsigned
     * @param procedure unsigned
     */
    boolean covers(int program, int version, int procedure);

    /**
     * A call has arrived.
     *
     * @param call which one; equal when it comes again
     * @param waiter notified of the end of a call in progress, after earlier waiters
     * @return what to do with the call
     */
    Lookup begin(Call call, Waiter waiter);

    /**
     * A handler has answered a call.
     *
     * @param call which one; equal when it comes again
     * @param reply the RPC message, owned by the caller, who changes it later: the cache copies it
     */
    void done(Call call, ByteBuf reply);

    /**
     * Nobody will answer a call, although a handler may have executed it: the handler has dropped it, or the connection
     * was lost and no handler has answered within the grace period. The longest waiter takes over the call; without
     * waiters the cache forgets it.
     *
     * @param call which one; equal when it comes again
     */
    void abandon(Call call);

    /**
     * The connection of a waiter is lost: the cache removes the waiter, whose notification may already be running.
     *
     * @param call which one; equal when it comes again
     * @param waiter the one that was given to {@link #begin}
     */
    void withdraw(Call call, Waiter waiter);
}
