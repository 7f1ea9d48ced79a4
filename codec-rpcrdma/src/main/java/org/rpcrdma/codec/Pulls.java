// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.ArrayDeque;
import java.util.Queue;

/** All pulls of one connection: the memory that they may take together, and those that belong to nobody yet. */
final class Pulls {

    private final Link link;

    /** Messages that may be calls or replies, by XID. */
    private final XidMap<Pull> undetermined = new XidMap<>();

    private final Spares<Pull> spares;
    private long bytes;

    private record Held(Pull pull, Runnable read) {}

    /** Replies that wait for the memory of others, in their order. */
    private final Queue<Held> held = new ArrayDeque<>();

    private boolean isReadingDue;
    private boolean isReading;

    Pulls(Link link) {
        this.link = link;
        spares = new Spares<>(() -> new Pull(link, this));
    }

    /** For a call, or what may be one: its items are kept apart if the user wants that. */
    Pull ofCall(int xid) {
        return spares.take().of(xid, true, link.config().annotatedCalls());
    }

    /** For a reply, which is always rebuilt. */
    Pull ofReply(int xid) {
        return spares.take().of(xid, false, false);
    }

    void recycle(Pull pull) {
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

    private void publish() {
        link.metrics().set(RpcRdmaGauge.PULLED_BYTES, bytes);
    }

    private boolean hasRoom(int more) {
        return bytes + more <= link.config().maxConnectionBytes();
    }

    // ------------------------------------------------------------------ held

    /**
     * Whether a reply has to wait for the memory of others. A message that is above the bound alone does not: nothing
     * would make room for it.
     */
    boolean mustHold(Pull pull) {
        return !isReading
                && pull.layout().total() <= link.config().maxConnectionBytes()
                && (!held.isEmpty() || !hasRoom(pull.layout().total()));
    }

    /**
     * Keeps a reply until there is room for it.
     *
     * @param read reads it; not called when the connection is lost before
     */
    void hold(Pull pull, Runnable read) {
        held.add(new Held(pull, read));
    }

    private void readHeld() {
        isReadingDue = false;
        isReading = true;
        for (Held next = held.peek(); next != null; next = held.peek()) {
            if (!hasRoom(next.pull.layout().total())) {
                break;
            }
            held.remove();
            next.read.run();
        }
        isReading = false;
    }

    // ------------------------------------------------------------------ nobody's

    /** Nobody knows until it is there what this message is. */
    void undetermined(Pull pull) {
        undetermined.put(pull.xid(), pull);
    }

    boolean isUndetermined(int xid) {
        return undetermined.containsKey(xid);
    }

    /** It is there: whoever it belongs to takes it. */
    void determined(Pull pull) {
        undetermined.remove(pull.xid());
    }

    /** The connection is lost. */
    void close() {
        held.clear();
        undetermined.values().forEach(Pull::free);
        undetermined.clear();
    }
}
