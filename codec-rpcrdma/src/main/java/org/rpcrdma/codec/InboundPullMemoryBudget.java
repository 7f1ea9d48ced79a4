// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.ArrayDeque;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.ObjectPool;

/**
 * Pulls of one connection in one role: RDMA Reads of the Read chunks of inbound calls, or of replies. Bounds their
 * memory, and holds back messages that exceed it. A call may depend on a reply in the other direction, and a reply
 * depends on nothing, so no reply waits for the memory of calls.
 */
final class InboundPullMemoryBudget {

    private final ConnectionSharedState link;

    private final ObjectPool<CallOrReplyReadListPull> spares;
    private long bytes;

    private record Held(CallOrReplyReadListPull pull, Runnable read) {}

    /** Messages that wait for memory, in order. */
    private final ArrayDeque<Held> held = new ArrayDeque<>(1);

    private final RegisteredMemoryRetryTimer retry;

    private boolean isReadingDue;
    private boolean isReading;

    /** Whether the first held message lacked registered memory. */
    private boolean isLacking;

    InboundPullMemoryBudget(ConnectionSharedState link, boolean ofCalls) {
        this.link = link;
        spares = new ObjectPool<>(() -> new CallOrReplyReadListPull(link, this, ofCalls));
        retry = new RegisteredMemoryRetryTimer(link, this::readHeld);
    }

    /**
     * New pull of a message.
     *
     * @param isUnsolicited whether nothing from here has asked for it
     */
    CallOrReplyReadListPull of(int xid, boolean isUnsolicited) {
        return spares.take().of(xid, isUnsolicited);
    }

    void recycle(CallOrReplyReadListPull pull) {
        add(-pull.clear());
        if (!held.isEmpty() && !isReadingDue) {
            isReadingDue = true;
            link.channel.eventLoop().execute(this::readHeld);
        }
        spares.give(pull);
    }

    /** Bytes of messages that are being pulled, or were pulled and are not yet answered. */
    long bytes() {
        return bytes;
    }

    /** Counts more bytes; returns the reason why the connection may not pull them, or {@code null}. */
    String count(int more) {
        if (!hasRoom(more)) {
            return bytes
                    + " bytes are pulled already (expected: at most the "
                    + link.config().maxConnectionBytes()
                    + " of maxConnectionBytes in all)";
        }
        add(more);
        return null;
    }

    /** Takes back counted bytes that were not allocated. */
    void discount(int less) {
        add(-less);
    }

    private void add(long change) {
        bytes += change;
        link.metrics.add(RpcRdmaGauge.READ_BYTES_HELD, change);
    }

    private boolean hasRoom(int more) {
        return bytes + more <= link.config().maxConnectionBytes();
    }

    // ------------------------------------------------------------------ held

    /** Whether the message fits the empty memory of this role; if not, waiting is pointless. */
    boolean canFit(CallOrReplyReadListPull pull) {
        long total = pull.layout().total();
        return total <= link.config().maxConnectionBytes()
                && total <= RdmaChannel.registeredBytesLimit();
    }

    /** Whether a message must wait until others release memory. */
    boolean mustHold(CallOrReplyReadListPull pull) {
        return !isReading && canFit(pull) && (!held.isEmpty() || !hasRoom(pull.layout().total()));
    }

    /**
     * Holds back a message until there is memory for it.
     *
     * @param read starts the pull; not called when the connection is lost first
     */
    void hold(CallOrReplyReadListPull pull, Runnable read) {
        held.add(new Held(pull, read));
    }

    /**
     * Holds back a message that lacked registered memory although it {@linkplain #canFit can fit}: the peer has
     * respected its grant (RFC 8166, 3.3.1), and other holders will release memory. The wait has no timeout: the
     * message keeps its credit and its place, later messages wait too, and only the peer ends the wait, by closing the
     * connection.
     *
     * @param read as for {@link #hold}; may fail for lack of memory again
     */
    void retry(CallOrReplyReadListPull pull, Runnable read) {
        Held first = new Held(pull, read);
        if (isReading) {
            held.addFirst(first); // keeps its place
            isLacking = true;
        } else {
            held.add(first);
        }
        retry.arm();
    }

    private void readHeld() {
        isReadingDue = false;
        isReading = true;
        isLacking = false;
        try {
            for (Held next = held.peek();
                    next != null && !isLacking && hasRoom(next.pull.layout().total());
                    next = held.peek()) {
                held.remove();
                next.read.run();
            }
            if (!isLacking) {
                retry.succeeded();
            }
        } catch (Throwable t) {
            // It is out of the queue, and nothing else would answer it.
            link.closeNow("a message that has waited for memory was not pulled", t);
        } finally {
            isReading = false;
        }
    }

    /** The connection is lost. */
    void close() {
        held.clear();
        retry.stop();
    }
}
