// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.internal.XidHashMap;

/** Long messages of one connection that may be calls or replies, until their kind is known. */
final class UnclassifiedLongMessages {

    private final XidHashMap<UnclassifiedLongMessageState> first = new XidHashMap<>();

    /**
     * Messages with the XID of another one that came before it: one may be a call, and the other a reply (RFC 8167,
     * 2.4).
     */
    private final XidHashMap<UnclassifiedLongMessageState> second = new XidHashMap<>();

    /** Adds a message until its kind, call or reply, is known. */
    void add(UnclassifiedLongMessageState message) {
        if (get(message.pull()) != message) {
            int xid = message.pull().xid();
            (first.containsKey(xid) ? second : first).put(xid, message);
        }
    }

    /** Number of messages. */
    int size() {
        return first.size() + second.size();
    }

    /** Number of messages with this XID, at most 2. */
    int sizeOf(int xid) {
        return (first.containsKey(xid) ? 1 : 0) + (second.containsKey(xid) ? 1 : 0);
    }

    /** The message that is pulled so. */
    UnclassifiedLongMessageState get(CallOrReplyReadListPull pull) {
        UnclassifiedLongMessageState message = first.get(pull.xid());
        return message != null && message.pull() == pull ? message : second.get(pull.xid());
    }

    /** Removes a message whose kind is known. */
    void remove(UnclassifiedLongMessageState message) {
        int xid = message.pull().xid();
        if (!first.remove(xid, message)) {
            second.remove(xid, message);
        }
    }

    /** The connection is lost. */
    void close() {
        first.values().forEach(message -> message.pull().free());
        second.values().forEach(message -> message.pull().free());
        first.clear();
        second.clear();
    }
}
