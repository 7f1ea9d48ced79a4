// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.ArrayDeque;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.ObjectPool;
import org.rpcrdma.codec.internal.XidHashMap;

/** All pulls of one connection: the memory that they may take together, and the messages of unknown kind. */
final class ReadChunkPulls {

    private final ConnectionContext link;

    /** Messages that may be calls or replies, by XID. */
    private final XidHashMap<UnclassifiedMessage> unclassified = new XidHashMap<>();

    private final ObjectPool<InboundReadListPull> spares;
    private long bytes;

    private record Held(InboundReadListPull pull, Runnable read) {}

    /** Calls and replies that wait for the memory of others, in their order. */
    private final ArrayDeque<Held> held = new ArrayDeque<>();

    private final MemoryRetry retry;

    private boolean isReadingDue;
    private boolean isReading;

    /** There was no memory for the first of them. */
    private boolean isLacking;

    ReadChunkPulls(ConnectionContext link) {
        this.link = link;
        spares = new ObjectPool<>(() -> new InboundReadListPull(link, this));
        retry = new MemoryRetry(link, this::readHeld);
    }

    /** For a call, or what may be one: its items are kept apart if the user wants that. */
    InboundReadListPull ofCall(int xid) {
        return spares.take().of(xid, true, link.config().annotatedCalls());
    }

    /** For a reply, which is always rebuilt. */
    InboundReadListPull ofReply(int xid) {
        return spares.take().of(xid, false, false);
    }

    void recycle(InboundReadListPull pull) {
        bytes -= pull.clear();
        publish();
        if (!held.isEmpty() && !isReadingDue) {
            isReadingDue = true;
            link.channel().eventLoop().execute(this::readHeld);
        }
        spares.give(pull);
    }

    /** The bytes of the messages that are being pulled, or were and are not answered. */
    long bytes() {
        return bytes;
    }

    /** Counts so much more; gives back why the connection may not pull it, or {@code null}. */
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

    /** What was counted was not taken. */
    void discount(int less) {
        bytes -= less;
        publish();
    }

    private void publish() {
        link.metrics().set(RpcRdmaGauge.PULLED_BYTES, bytes);
    }

    private boolean hasRoom(int more) {
        return bytes + more <= link.config().maxConnectionBytes();
    }

    // ------------------------------------------------------------------ held

    /** Whether there can ever be memory for a message: otherwise nothing that ends would make room for it. */
    boolean canFit(InboundReadListPull pull) {
        long total = pull.layout().total();
        return total <= link.config().maxConnectionBytes()
                && total <= RdmaChannel.registeredBytesLimit();
    }

    /** Whether a message has to wait for the memory of others of its connection. */
    boolean mustHold(InboundReadListPull pull) {
        return !isReading && canFit(pull) && (!held.isEmpty() || !hasRoom(pull.layout().total()));
    }

    /**
     * Keeps a message until there is room for it.
     *
     * @param read reads it; not called when the connection is lost before
     */
    void hold(InboundReadListPull pull, Runnable read) {
        held.add(new Held(pull, read));
    }

    /**
     * Keeps a message that there was no memory for, although it {@linkplain #canFit can fit}: whoever has the memory
     * gives it back, and the peer has kept to its grant (RFC 8166, 3.3.1). Nothing ends the wait here when the memory
     * never comes: the message keeps its credit and its place, messages behind it wait too, and the end is up to the
     * peer, which gives up and closes the connection.
     *
     * @param read as for {@link #hold}; may find no memory again
     */
    void retry(InboundReadListPull pull, Runnable read) {
        Held first = new Held(pull, read);
        if (isReading) {
            held.addFirst(first); // it was the first
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
        for (Held next = held.peek();
                next != null && !isLacking && hasRoom(next.pull.layout().total());
                next = held.peek()) {
            held.remove();
            next.read.run();
        }
        if (!isLacking) {
            retry.succeeded();
        }
        isReading = false;
    }

    // ------------------------------------------------------------------ unclassified

    /** Keeps a message until its kind is known. */
    void addUnclassified(UnclassifiedMessage message) {
        unclassified.put(message.pull().xid(), message);
    }

    /** How many there are. */
    int unclassified() {
        return unclassified.size();
    }

    /** The one with this XID; {@code null} when there is none. */
    UnclassifiedMessage unclassified(int xid) {
        return unclassified.get(xid);
    }

    /** Its kind is known, or was never in question. */
    void removeUnclassified(UnclassifiedMessage message) {
        unclassified.remove(message.pull().xid(), message);
    }

    /** The connection is lost. */
    void close() {
        held.clear();
        retry.stop();
        unclassified.values().forEach(message -> message.pull().free());
        unclassified.clear();
    }
}
