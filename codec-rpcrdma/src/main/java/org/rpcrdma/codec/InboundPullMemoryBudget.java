// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.ArrayDeque;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * Pulls of one connection: RDMA Reads of the Read chunks of inbound messages. Bounds their memory, and holds back
 * messages that exceed it.
 */
final class InboundPullMemoryBudget {

    private final ConnectionSharedState link;

    /** Messages that may be calls or replies, by XID. */
    private final XidHashMap<UnclassifiedLongMessageState> unclassified = new XidHashMap<>();

    /**
     * Messages with the XID of another one that came before it: one may be a call, and the other a reply (RFC 8167,
     * 2.4).
     */
    private final XidHashMap<UnclassifiedLongMessageState> secondUnclassified = new XidHashMap<>();

    private final ObjectPool<CallOrReplyReadListPull> spares;
    private long bytes;

    private record Held(CallOrReplyReadListPull pull, Runnable read) {}

    /** Calls and replies that wait for memory, in order. */
    private final ArrayDeque<Held> held = new ArrayDeque<>();

    private final RegisteredMemoryRetryTimer retry;

    private boolean isReadingDue;
    private boolean isReading;

    /** Whether the first held message lacked registered memory. */
    private boolean isLacking;

    InboundPullMemoryBudget(ConnectionSharedState link) {
        this.link = link;
        spares = new ObjectPool<>(() -> new CallOrReplyReadListPull(link, this));
        retry = new RegisteredMemoryRetryTimer(link, this::readHeld);
    }

    /** New pull of a call, or of a message that may be one: items stay apart with annotatedCalls. */
    CallOrReplyReadListPull ofCall(int xid) {
        return spares.take().of(xid, true, link.config().annotatedCalls());
    }

    /** New pull of a reply, which is always made contiguous. */
    CallOrReplyReadListPull ofReply(int xid) {
        return spares.take().of(xid, false, false);
    }

    void recycle(CallOrReplyReadListPull pull) {
        bytes -= pull.clear();
        publish();
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
        bytes += more;
        publish();
        return null;
    }

    /** Takes back counted bytes that were not allocated. */
    void discount(int less) {
        bytes -= less;
        publish();
    }

    private void publish() {
        link.metrics.set(RpcRdmaGauge.READ_BYTES_HELD, bytes);
    }

    private boolean hasRoom(int more) {
        return bytes + more <= link.config().maxConnectionBytes();
    }

    // ------------------------------------------------------------------ held

    /** Whether the message fits the empty memory of the connection; if not, waiting is pointless. */
    boolean canFit(CallOrReplyReadListPull pull) {
        long total = pull.layout().total();
        return total <= link.config().maxConnectionBytes()
                && total <= RdmaChannel.registeredBytesLimit();
    }

    /** Whether a message must wait until other messages of the connection release memory. */
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

    // ------------------------------------------------------------------ unclassified

    /** Adds a message until its kind, call or reply, is known. */
    void addUnclassified(UnclassifiedLongMessageState message) {
        if (unclassified(message.pull()) != message) {
            int xid = message.pull().xid();
            (unclassified.containsKey(xid) ? secondUnclassified : unclassified).put(xid, message);
        }
    }

    /** Number of unclassified messages. */
    int unclassified() {
        return unclassified.size() + secondUnclassified.size();
    }

    /** Number of unclassified messages with this XID, at most 2. */
    int unclassifiedWith(int xid) {
        return (unclassified.containsKey(xid) ? 1 : 0)
                + (secondUnclassified.containsKey(xid) ? 1 : 0);
    }

    /** The unclassified message that is pulled so. */
    UnclassifiedLongMessageState unclassified(CallOrReplyReadListPull pull) {
        UnclassifiedLongMessageState message = unclassified.get(pull.xid());
        return message != null && message.pull() == pull
                ? message
                : secondUnclassified.get(pull.xid());
    }

    /** Removes a message whose kind is known. */
    void removeUnclassified(UnclassifiedLongMessageState message) {
        int xid = message.pull().xid();
        if (!unclassified.remove(xid, message)) {
            secondUnclassified.remove(xid, message);
        }
    }

    /** The connection is lost. */
    void close() {
        held.clear();
        retry.stop();
        unclassified.values().forEach(message -> message.pull().free());
        secondUnclassified.values().forEach(message -> message.pull().free());
        unclassified.clear();
        secondUnclassified.clear();
    }
}
