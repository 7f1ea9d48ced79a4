// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.rpcrdma.channel.SimulatedChannels.field;
import static org.rpcrdma.channel.SimulatedChannels.value;

import java.lang.reflect.Field;
import java.net.SocketAddress;
import org.rpcrdma.codec.internal.XidHashMap;

/** Reads the state that a connection keeps for its calls, which has to be gone when no call is outstanding. */
public final class ConnectionRemains {

    private static final Field REQUESTER_CALLS = field(RequesterState.class, "calls");
    private static final Field OFFERED = field(RequesterState.class, "offeredBytes");
    private static final Field DUE = field(RequesterCredits.class, "completionsDue");
    private static final Field RESPONDER_CALLS = field(ResponderState.class, "calls");

    private ConnectionRemains() {}

    /**
     * Returns what is left, each entry ended by a semicolon; empty for nothing. Call it while no simulated thread runs.
     *
     * @param connection of a channel that is active
     */
    public static String of(RpcRdmaConnection connection) {
        StringBuilder left = new StringBuilder();
        RequesterState requester = connection.requester();
        add(left, "calls", size(REQUESTER_CALLS, requester));
        add(left, "bytes offered", number(OFFERED, requester));
        if (requester.credits != null) {
            add(left, "calls in flight", requester.credits.inFlight);
            add(left, "pull completions due", number(DUE, requester.credits));
        }
        ResponderState responder = connection.responder();
        add(left, "calls of the peer", size(RESPONDER_CALLS, responder));
        if (responder.credits != null) {
            add(left, "unanswered", responder.credits.unanswered());
        }
        if (responder.waiting() != null) {
            add(left, "replies waiting", responder.waiting().count());
            add(left, "bytes of replies waiting", responder.waiting().bytes());
        }
        add(left, "bytes of replies pulled", requester.pulls().bytes());
        add(left, "bytes of calls pulled", responder.pulls().bytes());
        add(left, "messages of unknown kind", connection.unclassified().size());
        return left.toString();
    }

    /** {@return the local address of a connection} */
    public static SocketAddress localAddress(RpcRdmaConnection connection) {
        return connection.link().channel.localAddress();
    }

    private static void add(StringBuilder left, String what, long count) {
        if (count != 0) {
            left.append(count).append(' ').append(what).append("; ");
        }
    }

    private static long size(Field map, Object owner) {
        return ((XidHashMap<?>) value(map, owner)).size();
    }

    private static long number(Field field, Object owner) {
        return ((Number) value(field, owner)).longValue();
    }
}
