// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/** One end of a connection; works on one thread, which polls while it waits. What it waits for in vain is an error. */
final class PolledEnd implements QueuePairHandler {

    /** By far more than a machine that emulates another one takes beside others. */
    private static final long TIMEOUT_NANOS = 120_000_000_000L;

    private static final long PAUSE_NANOS = 100_000_000L;
    private static final long RECEIVE = 1;
    private static final long WORK = 2;

    private final EventLoopVerbsContext context;
    private final Deque<Integer> received = new ArrayDeque<>();
    private QueuePair pair;
    private int completed;
    private int taken;
    private boolean connected;
    private boolean disconnected;
    private Throwable refusal;
    private String failure;

    private PolledEnd(EventLoopVerbsContext context) {
        this.context = context;
    }

    /**
     * Connects, again and again while nobody listens.
     *
     * @param prepare posts the first receives
     */
    static PolledEnd connect(
            EventLoopVerbsContext context,
            QueuePairConfig depths,
            InetSocketAddress server,
            Consumer<PolledEnd> prepare)
            throws IOException {
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        while (true) {
            PolledEnd end = new PolledEnd(context);
            end.pair = context.createQueuePair(depths, end);
            prepare.accept(end);
            end.pair.connect(server, null, new byte[0]);
            end.await("connection", () -> end.connected || end.refusal != null);
            if (end.connected) {
                return end;
            }
            end.pair.close();
            if (System.nanoTime() - deadline > 0) {
                throw new IOException("nobody listens at " + server, end.refusal);
            }
            context.await(PAUSE_NANOS);
        }
    }

    /**
     * Accepts.
     *
     * @param prepare posts the first receives
     */
    static PolledEnd accept(
            EventLoopVerbsContext context,
            QueuePairConfig depths,
            ConnectionRequest request,
            Consumer<PolledEnd> prepare)
            throws IOException {
        PolledEnd end = new PolledEnd(context);
        end.pair = context.createQueuePair(request, depths, end);
        prepare.accept(end);
        end.pair.accept(new byte[0]);
        end.await("connection", () -> end.connected);
        return end;
    }

    /** The queue pair, to expose memory. */
    QueuePair pair() {
        return pair;
    }

    void postReceive(PolledMemory memory, int at, int length) {
        pair.postReceive(RECEIVE, memory.address(at), length, memory.localKey());
    }

    void send(PolledMemory memory, int at, int length) {
        pair.send(WORK, QueuePair.SIGNALED);
        gather(memory, at, length);
    }

    void write(PolledMemory memory, int at, int length, long remoteAddress, int remoteKey) {
        pair.write(WORK, QueuePair.SIGNALED, remoteAddress, remoteKey);
        gather(memory, at, length);
    }

    void read(PolledMemory memory, int at, int length, long remoteAddress, int remoteKey) {
        pair.read(WORK, QueuePair.SIGNALED, remoteAddress, remoteKey);
        gather(memory, at, length);
    }

    private void gather(PolledMemory memory, int at, int length) {
        pair.gather(memory.address(at), length, memory.localKey());
        pair.doorbell();
    }

    /** Awaits the next message and returns its length. */
    int take() {
        await("message", () -> !received.isEmpty());
        taken++;
        return received.remove();
    }

    /** Awaits the next message, or the end of the connection; whether it is a message. */
    boolean hasNext() {
        await("message", () -> !received.isEmpty() || disconnected);
        return !received.isEmpty();
    }

    /** How many Sends, Writes and Reads are complete. */
    int completed() {
        return completed;
    }

    void await(String what, BooleanSupplier condition) {
        Report.holds(
                isMet(context, () -> failure != null || condition.getAsBoolean()),
                "no %s came after %d messages, %d Sends, Writes and Reads"
                        .formatted(what, taken, completed));
        Report.holds(failure == null, failure);
    }

    static void await(EventLoopVerbsContext context, String what, BooleanSupplier condition) {
        Report.holds(isMet(context, condition), "no " + what + " came");
    }

    private static boolean isMet(EventLoopVerbsContext context, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        while (!condition.getAsBoolean() && System.nanoTime() - deadline < 0) {
            context.poll(16);
        }
        return condition.getAsBoolean();
    }

    void disconnect() {
        pair.disconnect();
        awaitDisconnected();
    }

    void awaitDisconnected() {
        await("end of the connection", () -> disconnected);
    }

    @Override
    public void connected(byte[] privateData) {
        connected = true;
    }

    @Override
    public void connectFailed(Throwable cause) {
        refusal = cause;
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        if (status == WorkStatus.FLUSHED) {
            return;
        }
        if (status != WorkStatus.SUCCESS) {
            failure = (id == RECEIVE ? "receive: " : "send queue: ") + status;
        } else if (id == RECEIVE) {
            received.add(length);
        } else {
            completed++;
        }
    }

    @Override
    public void disconnected(Throwable cause) {
        disconnected = true;
        if (cause != null) {
            failure = "disconnected: " + cause;
        }
    }
}
