// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static io.netty.util.internal.ObjectUtil.checkNotNull;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * A {@link DuplicateRequestCache} that bounds the number of calls and the bytes of replies. It evicts the oldest reply
 * first. It does not keep a reply above the limit; a retransmission of that call is executed again.
 *
 * <p>No single client address can deny the cache to others: where it keeps more than half, it evicts its own oldest
 * reply, and it may have half of the calls in progress. Calls above that are executed without being remembered.
 *
 * <p>One lock guards all state; it is held for map operations.
 */
public final class BoundedDuplicateRequestCache implements DuplicateRequestCache {

    /** Selects the procedures whose replies are kept. */
    @FunctionalInterface
    public interface Filter {
        /**
         * {@return whether calls of a procedure are remembered; asked on the event loops}
         *
         * @param program unsigned
         * @param version unsigned
         * @param procedure unsigned
         */
        boolean covers(int program, int version, int procedure);
    }

    private final int maxEntries;
    private final int maxReplyBytes;
    private final long maxBytes;
    private final Filter filter;

    /** Calls that handlers are executing, each with its waiters in order of arrival. */
    private final Map<Call, ArrayDeque<Waiter>> inProgress = new HashMap<>();

    /** Replies in the order in which they were given. */
    private final Map<Call, byte[]> replies = new LinkedHashMap<>();

    private final Map<InetAddress, Client> clients = new HashMap<>();

    /** Each has kept more than half, of the replies and of the bytes, when it was given its last reply. */
    private Client most = new Client();

    private Client heaviest = most;
    private final Object lock = new Object();
    private long bytes;

    /** Calls that were executed without being remembered. */
    private long unremembered;

    /** One client address. */
    private static final class Client {
        /** Calls with a reply, in the order in which these were given. */
        final Set<Call> replies = new LinkedHashSet<>();

        long bytes;
        int inProgress;
    }

    /**
     * A cache for any number of connections, servers and threads.
     *
     * @param maxEntries the most calls in progress, and the most replies, that are kept, from 1
     * @param maxReplyBytes the longest reply that is kept
     * @param maxBytes the most bytes of all replies together
     * @param filter which procedures are remembered
     */
    public BoundedDuplicateRequestCache(
            int maxEntries, int maxReplyBytes, long maxBytes, Filter filter) {
        this.maxEntries = checkPositive(maxEntries, "maxEntries");
        this.maxReplyBytes = checkPositive(maxReplyBytes, "maxReplyBytes");
        this.maxBytes = checkPositive(maxBytes, "maxBytes");
        this.filter = checkNotNull(filter, "filter");
    }

    /** 4096 calls, replies of up to 4 KiB, 4 MiB in all, and every procedure but NULL, which is number 0. */
    public BoundedDuplicateRequestCache() {
        this(4096, 4096, 4 << 20, (program, version, procedure) -> procedure != 0);
    }

    @Override
    public boolean covers(int program, int version, int procedure) {
        return filter.covers(program, version, procedure);
    }

    @Override
    public Lookup begin(Call call, Waiter waiter) {
        synchronized (lock) {
            byte[] reply = replies.get(call);
            if (reply != null) {
                return new Lookup(Progress.DONE, Unpooled.wrappedBuffer(reply));
            }
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting != null) {
                waiting.add(waiter);
                return new Lookup(Progress.IN_PROGRESS, null);
            }
            Client client = clients.computeIfAbsent(call.client(), address -> new Client());
            if (inProgress.size() < maxEntries && client.inProgress < half(maxEntries)) {
                client.inProgress++;
                add(call);
            } else {
                unremembered++;
                forgetIfIdle(call.client(), client);
            }
            return new Lookup(Progress.NEW, null);
        }
    }

    @Override
    public void done(Call call, ByteBuf reply) {
        boolean isKept = reply.readableBytes() <= maxReplyBytes;
        if (!isKept && tryEnd(call)) {
            return;
        }
        byte[] copy;
        ArrayDeque<Waiter> waiting;
        try {
            copy = ByteBufUtil.getBytes(reply);
            synchronized (lock) {
                if (!inProgress.containsKey(call)) {
                    return;
                }
                if (isKept) {
                    keep(call, copy);
                }
                waiting = inProgress.remove(call);
                ended(call);
            }
        } catch (Throwable t) {
            abandon(call); // nobody has an answer for those who wait
            throw t;
        }
        answer(waiting, copy);
    }

    /** Ends a call whose reply is not kept; {@code false} where somebody waits for that. */
    private boolean tryEnd(Call call) {
        synchronized (lock) {
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting == null) {
                return true;
            }
            if (!waiting.isEmpty()) {
                return false;
            }
            inProgress.remove(call);
            ended(call);
            return true;
        }
    }

    /** A waiter that throws keeps the reply from no other one. */
    private static void answer(ArrayDeque<Waiter> waiting, byte[] reply) {
        for (Waiter next = waiting.poll(); next != null; next = waiting.poll()) {
            try {
                next.answered(Unpooled.wrappedBuffer(reply));
            } catch (Throwable t) {
                answer(waiting, reply);
                throw t;
            }
        }
    }

    // ------------------------------------------------------------------ under the lock

    private void add(Call call) {
        try {
            inProgress.put(call, new ArrayDeque<>(2));
        } catch (Throwable t) {
            inProgress.remove(call); // a table that found no heap to grow may have it
            ended(call);
            throw t;
        }
    }

    /** The call is not in progress any more. */
    private void ended(Call call) {
        Client client = clients.get(call.client());
        client.inProgress--;
        forgetIfIdle(call.client(), client);
    }

    private void keep(Call call, byte[] reply) {
        Client client = clients.get(call.client());
        try {
            client.replies.add(call);
            replies.put(call, reply);
        } catch (Throwable t) {
            client.replies.remove(call);
            replies.remove(call);
            throw t;
        }
        client.bytes += reply.length;
        bytes += reply.length;
        if (client.replies.size() > half(maxEntries)) {
            most = client;
        }
        if (client.bytes > half(maxBytes)) {
            heaviest = client;
        }
        while (replies.size() > maxEntries || bytes > maxBytes) {
            evict(evictable().iterator().next());
        }
    }

    /** Those of an address with more than half, of which there is one at most, or else of all. */
    private Set<Call> evictable() {
        if (keepsTooMuch(most)) {
            return most.replies;
        }
        return keepsTooMuch(heaviest) ? heaviest.replies : replies.keySet();
    }

    private boolean keepsTooMuch(Client client) {
        int count = client.replies.size();
        return count > 1 && (count > half(maxEntries) || client.bytes > half(maxBytes));
    }

    /** At least 1. */
    private static long half(long limit) {
        return limit - limit / 2;
    }

    private void evict(Call oldest) {
        Client client = clients.get(oldest.client());
        byte[] reply = replies.remove(oldest);
        client.replies.remove(oldest);
        client.bytes -= reply.length;
        bytes -= reply.length;
        forgetIfIdle(oldest.client(), client);
    }

    private void forgetIfIdle(InetAddress address, Client client) {
        if (client.inProgress == 0 && client.replies.isEmpty()) {
            clients.remove(address);
        }
    }

    // ------------------------------------------------------------------ lost connections

    @Override
    public void abandon(Call call) {
        Waiter next;
        synchronized (lock) {
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting == null) {
                return;
            }
            next = waiting.poll();
            if (next == null) {
                inProgress.remove(call);
                ended(call);
                return;
            }
        }
        next.abandoned();
    }

    @Override
    public void withdraw(Call call, Waiter waiter) {
        synchronized (lock) {
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting != null) {
                waiting.remove(waiter);
            }
        }
    }

    /** Fill level and limits, without the contents of calls or replies. Any thread. */
    @Override
    public String toString() {
        synchronized (lock) {
            return "BoundedDuplicateRequestCache("
                    + replies.size()
                    + " of "
                    + maxEntries
                    + " replies, "
                    + bytes
                    + " of "
                    + maxBytes
                    + " bytes, "
                    + unremembered
                    + " calls not remembered, "
                    + inProgress.size()
                    + " calls in progress)";
        }
    }
}
