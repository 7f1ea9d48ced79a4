// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.net.InetAddress;

/**
 * Remembers replies, so that a call that is sent again after its connection was lost is answered and not executed again
 * (RFC 5531, 4). It keeps RPC messages and no transport headers: a reply goes into the chunks, and under the credits,
 * of the call that asks for it now.
 *
 * <p>Methods are called on the event loops of all connections that share the cache: it has to be safe there, and quick.
 */
public interface DuplicateRequestCache {

    /**
     * What makes a call the same call. The client is an address without its port, because a client that comes back may
     * have another one.
     *
     * @param client the peer's address
     * @param xid of the call
     * @param program unsigned
     * @param version unsigned
     * @param procedure unsigned
     * @param length bytes of the RPC message
     * @param checksum of the beginning of the RPC message, so that an XID used anew is not mistaken for the old call
     */
    record Call(
            InetAddress client,
            int xid,
            int program,
            int version,
            int procedure,
            int length,
            int checksum) {}

    /** How far a call has come. */
    enum Progress {
        /** Never seen, or forgotten: it is in progress from now on, and is executed. */
        NEW,
        /** A handler is at work. */
        IN_PROGRESS,
        /** There is a reply. */
        DONE
    }

    /**
     * The answer to {@link #begin}.
     *
     * @param progress how far the call has come
     * @param reply the RPC message when it is done, owned by the caller; otherwise {@code null}
     */
    record Lookup(Progress progress, ByteBuf reply) {}

    /** Takes part when a call that it waits for comes to an end. Called on any thread, at most one of the two, once. */
    interface Waiter {

        /**
         * The first call was answered.
         *
         * @param reply the RPC message, owned by this waiter
         */
        void answered(ByteBuf reply);

        /** Nobody will answer: the call is this waiter's now. It is in progress still, and is executed again. */
        void abandoned();
    }

    /**
     * {@return whether calls of that procedure are remembered} Those that may be executed twice need not be.
     *
     * @param program unsigned
     * @param version unsigned
     * @param procedure unsigned
     */
    boolean covers(int program, int version, int procedure);

    /**
     * A call has come.
     *
     * @param call which one; equal when it comes again
     * @param waiter told of the end when the call is in progress, after those who came before
     * @return what to do with the call
     */
    Lookup begin(Call call, Waiter waiter);

    /**
     * A handler has answered.
     *
     * @param call which one; equal when it comes again
     * @param reply the RPC message; it belongs to the caller and changes later, so it is copied if it is kept
     */
    void done(Call call, ByteBuf reply);

    /**
     * The connection was lost, and no handler has answered in the time that was left to it; what the handler does may
     * have happened. The one who has waited longest takes the call over; with nobody waiting it is forgotten.
     *
     * @param call which one; equal when it comes again
     */
    void abandon(Call call);

    /**
     * The connection of a waiter is lost: it is not told of the end any more, unless it is being told already.
     *
     * @param call which one; equal when it comes again
     * @param waiter the one that was given to {@link #begin}
     */
    void withdraw(Call call, Waiter waiter);
}
