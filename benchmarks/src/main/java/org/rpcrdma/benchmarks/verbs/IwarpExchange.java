// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Work requests on the software RNIC: the caller's thread polls one context with one end of each connection, another
 * thread the one with the other ends.
 */
final class IwarpExchange implements Exchange {

    private static final int MAX_SLOTS = 16;
    private static final int NOTICE = 4;
    private static final int BUDGET = 64;
    private static final QueuePairConfig SIZES =
            new QueuePairConfig(4 * MAX_SLOTS, 2 * MAX_SLOTS, MAX_SLOTS, MAX_SLOTS);

    /** What a work request's id says beside its slot. */
    private static final long RECEIVE = 1 << 8;

    private static final long DATA = 2 << 8;
    private static final int SLOT = 0xff;

    private final int bytes;
    private final int slots;
    private final EventLoopVerbsContext callerContext = Rdma.provider("iwarp").open();
    private final Caller[] callers;
    private final Thread thread;
    private long answered;
    private volatile boolean ended;
    private volatile Throwable echoFailure;

    /**
     * @param slots messages of a connection for which there is memory, at least the largest window: what is used is
     *     then used again soon, as that of the other carriers is
     */
    IwarpExchange(int bytes, int slots, int connections) throws Exception {
        this.bytes = bytes;
        this.slots = slots;
        callers = new Caller[connections];
        List<Echo> accepted = new ArrayList<>();
        EventLoopVerbsContext context = Rdma.provider("iwarp").open();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        InetSocketAddress address =
                context.listen(
                                any,
                                connections,
                                new ListenerHandler() {
                                    @Override
                                    public void connectionRequested(ConnectionRequest request) {
                                        try {
                                            accepted.add(new Echo(context, request));
                                        } catch (IOException e) {
                                            throw new IllegalStateException(e);
                                        }
                                    }

                                    @Override
                                    public void acceptFailed(Throwable cause) {
                                        throw new IllegalStateException(cause);
                                    }
                                })
                        .localAddress();
        for (int i = 0; i < connections; i++) {
            callers[i] = new Caller();
            callers[i].pair.connect(address, null, new byte[0]);
            while (!callers[i].connected) {
                context.poll(BUDGET);
                callerContext.poll(BUDGET);
                callers[i].check();
            }
            Echo echo = accepted.get(i);
            callers[i].prepare();
            echo.prepare();
            callers[i].tell(echo);
            echo.tell(callers[i]);
        }
        thread =
                new Thread(
                        () -> {
                            while (!ended) {
                                if (context.poll(BUDGET) > 0) {
                                    accepted.forEach(Echo::answer);
                                }
                            }
                            context.close();
                        },
                        "echo");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void sends(int count, int window) {
        run(count, window, (caller, slot) -> caller.send(slot, bytes));
    }

    @Override
    public void writes(int count, int window) {
        run(
                count,
                window,
                (caller, slot) -> {
                    caller.write(slot, bytes);
                    caller.send(slot, NOTICE);
                });
    }

    @Override
    public void reads(int count, int window) {
        run(
                count,
                window,
                (caller, slot) -> {
                    caller.pair.read(
                            DATA | slot,
                            QueuePair.SIGNALED,
                            caller.readable.address() + (long) slot * bytes,
                            caller.readable.key());
                    caller.pair.gather(caller.sinkAddress(slot), bytes, caller.sink.localKey());
                });
    }

    /** Memory of the other end. */
    private record Remote(int key, long address) {}

    private interface Post {
        void accept(Caller caller, int slot);
    }

    private void run(int count, int window, Post post) {
        long end = answered + count;
        int left = count;
        while (answered < end) {
            for (Caller caller : callers) {
                int more = Math.min(left, window - caller.outstanding);
                caller.post(post, more);
                left -= more;
            }
            long before = answered;
            while (answered == before) {
                callerContext.poll(BUDGET);
                for (Caller caller : callers) {
                    caller.check();
                }
                if (echoFailure != null) {
                    throw new IllegalStateException(echoFailure);
                }
            }
        }
    }

    @Override
    public void close() throws InterruptedException {
        ended = true;
        thread.join();
        callerContext.close();
    }

    /**
     * One end. Messages arrive in the slots of {@code received}; data are written and read to those of {@code sink}.
     */
    private abstract class End implements QueuePairHandler {

        private final EventLoopVerbsContext context;
        final MemoryRegion received;
        final MemoryRegion sink;
        QueuePair pair;
        boolean connected;
        Remote writable;
        Remote readable;
        Throwable failure;

        End(EventLoopVerbsContext context) {
            this.context = context;
            received = memory();
            sink = memory();
        }

        private MemoryRegion memory() {
            ByteBuffer memory = ByteBuffer.allocateDirect(slots * bytes);
            return context.register(memory, PlatformDependent.directBufferAddress(memory));
        }

        final void prepare() {
            for (int slot = 0; slot < slots; slot++) {
                receive(slot);
            }
        }

        final void tell(End other) {
            other.writable = expose(QueuePair.REMOTE_WRITE);
            other.readable = expose(QueuePair.REMOTE_READ);
        }

        private Remote expose(int access) {
            int key = pair.expose(sink, sink.address(), sink.length(), access);
            return new Remote(key, pair.exposedOffset(key));
        }

        final void receive(int slot) {
            pair.postReceive(RECEIVE | slot, address(slot), bytes, received.localKey());
        }

        private long address(int slot) {
            return received.address() + (long) slot * bytes;
        }

        final long sinkAddress(int slot) {
            return sink.address() + (long) slot * bytes;
        }

        final void send(int slot, int length) {
            pair.send(slot, QueuePair.SIGNALED);
            pair.gather(address(slot), length, received.localKey());
        }

        final void write(int slot, int length) {
            pair.write(0, 0, writable.address() + (long) slot * bytes, writable.key());
            pair.gather(sinkAddress(slot), length, sink.localKey());
        }

        @Override
        public void connected(byte[] privateData) {
            connected = true;
        }

        @Override
        public void connectFailed(Throwable cause) {
            failure = cause;
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            if (status != WorkStatus.SUCCESS) {
                failure = new IllegalStateException("work request " + id + ": " + status);
            } else if ((id & RECEIVE) != 0) {
                arrived(id, length);
            } else if ((id & DATA) != 0) {
                fetched();
            } else {
                sent((int) id & SLOT);
            }
        }

        abstract void arrived(long id, int length);

        abstract void fetched();

        abstract void sent(int slot);

        @Override
        public void disconnected(Throwable cause) {
            failure = new IllegalStateException("disconnected", cause);
        }

        final void check() {
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
        }
    }

    /** Keeps messages out. */
    private final class Caller extends End {

        int outstanding;
        private int next;

        Caller() throws IOException {
            super(callerContext);
            pair = callerContext.createQueuePair(SIZES, this);
        }

        void post(Post post, int count) {
            for (int i = 0; i < count; i++) {
                post.accept(this, next);
                next = (next + 1) % slots;
            }
            outstanding += count;
            if (count > 0) {
                pair.doorbell();
            }
        }

        @Override
        void arrived(long id, int length) {
            fetched();
            receive((int) id & SLOT);
        }

        @Override
        void fetched() {
            outstanding--;
            answered++;
        }

        @Override
        void sent(int slot) {
            // The slot's answer says so, too.
        }
    }

    /** Sends back what it receives, from where it was received. */
    private final class Echo extends End {

        private boolean hasAnswers;

        Echo(EventLoopVerbsContext context, ConnectionRequest request) throws IOException {
            super(context);
            pair = context.createQueuePair(request, SIZES, this);
            pair.accept(new byte[0]);
        }

        @Override
        void arrived(long id, int length) {
            int slot = (int) id & SLOT;
            if (length != bytes) {
                write(slot, bytes);
            }
            send(slot, length);
            hasAnswers = true;
        }

        void answer() {
            if (failure != null) {
                echoFailure = failure;
            }
            if (hasAnswers) {
                hasAnswers = false;
                pair.doorbell();
            }
        }

        @Override
        void fetched() {
            throw new IllegalStateException("this end reads nothing");
        }

        @Override
        void sent(int slot) {
            receive(slot);
        }
    }
}
