// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.VerbsConstants;
import org.rpcrdma.verbs.hardware.WorkRequestLayout;

/**
 * An {@code ibv_qp} on the software RNIC, whose thread does the work. As soft-iWARP, it takes the first range of a
 * Read alone.
 */
final class SoftwareQp implements QueuePairHandler {

    /** The RNIC takes key 0 for a receive whose memory it is to ask for. */
    private static final int UNUSED_KEY = -1;

    private static final int REJECTED_STATUS = -104;
    private static final int REJECTED_ROCE = 28;
    private static final int NOBODY_ROCE = 8;

    /** {@code IBV_WC_MW_BIND_ERR}. */
    private static final int WINDOW_ERROR = 6;

    /** A Send, by its place among those of its connection. */
    record Message(InetSocketAddress from, InetSocketAddress to, long number) {}

    /** What an RDMA Write with Immediate of the peer is told with; the immediate as it lies in memory. */
    record Immediate(int value, int length) {}

    /** What is done when it is posted, and complete when those before it are. */
    private static final int NO_STATUS = -1;

    private record Posted(long workId, int opcode, int status) {
        Posted(long workId, int opcode) {
            this(workId, opcode, NO_STATUS);
        }
    }

    private final SoftwareKernel kernel;
    private final SoftwareLibrary.Id id;
    private final SoftwareLibrary.Cq queue;
    private final ArrayDeque<Posted> sends = new ArrayDeque<>();
    private final ArrayDeque<Posted> receives = new ArrayDeque<>();
    private final CountDownLatch connected = new CountDownLatch(1);
    final long pointer = SoftwareKernel.allocate(160);
    QueuePair queuePair;
    private long messagesSent;
    private long messagesReceived;

    private boolean closed;
    private boolean isRefused;

    SoftwareQp(SoftwareKernel kernel, SoftwareLibrary.Id id, SoftwareLibrary.Cq queue) {
        this.kernel = kernel;
        this.id = id;
        this.queue = queue;
    }

    /**
     * Connects, and waits for the answer as soft-iWARP waits for TCP; soft-RoCE does not.
     *
     * @return whether there was an answer at all
     */
    boolean connect(InetSocketAddress remote, InetSocketAddress local, byte[] data) {
        kernel.rnic.execute(
                () -> {
                    if (!closed) {
                        queuePair.connect(remote, local, data);
                    }
                });
        if (kernel.kind == SoftwareKernel.Kind.ROCE) {
            return true;
        }
        try {
            connected.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return !isRefused;
    }

    SoftwareLibrary.Cq queue() {
        return queue;
    }

    void accept(byte[] data) {
        kernel.rnic.execute(
                () -> {
                    if (!closed) {
                        queuePair.accept(data);
                    }
                });
    }

    void disconnect() {
        kernel.rnic.execute(
                () -> {
                    if (!closed) {
                        queuePair.disconnect();
                    }
                });
    }

    /** Nothing happens any more. On the thread of the device. */
    void close() {
        if (!closed) {
            closed = true;
            InetSocketAddress local = queuePair.localAddress();
            kernel.immediates.keySet().removeIf(message -> message.to().equals(local));
            queuePair.close();
            isRefused |= connected.getCount() > 0;
            connected.countDown();
            sends.forEach(
                    left -> queue.add(left.workId, VerbsConstants.FLUSHED, left.opcode, 0, 0));
            receives.forEach(left -> queue.add(left.workId, VerbsConstants.FLUSHED, 128, 0, 0));
            sends.clear();
            receives.clear();
        }
    }

    // ------------------------------------------------------------------ work

    void postSend(long list) {
        for (long at = list; at != 0; at = CMemory.getLong(at + WorkRequestLayout.WR_NEXT)) {
            long workId = CMemory.getLong(at);
            int opcode = CMemory.getInt(at + WorkRequestLayout.SEND_OPCODE);
            int flags = CMemory.getInt(at + WorkRequestLayout.SEND_FLAGS);
            int invalidate = CMemory.getInt(at + WorkRequestLayout.SEND_INVALIDATE);
            long address = CMemory.getLong(at + WorkRequestLayout.SEND_REMOTE_ADDRESS);
            int key = CMemory.getInt(at + WorkRequestLayout.SEND_REMOTE_KEY);
            long[] ranges = ranges(at, opcode == VerbsConstants.READ ? 1 : Integer.MAX_VALUE);
            if (opcode == VerbsConstants.BIND || opcode == VerbsConstants.LOCAL_INVALIDATE) {
                postLocal(at, workId, opcode, invalidate);
                continue;
            }
            work(
                    () -> {
                        sends.add(new Posted(workId, opcode));
                        if (opcode == VerbsConstants.WRITE_WITH_IMMEDIATE) {
                            writeWithImmediate(
                                    workId, flags(flags), address, key, ranges, invalidate);
                            return;
                        }
                        messagesSent +=
                                opcode == VerbsConstants.WRITE || opcode == VerbsConstants.READ
                                        ? 0
                                        : 1;
                        int stag = kernel.windows.stag(key);
                        int bits = flags(flags);
                        switch (opcode) {
                            case VerbsConstants.SEND -> queuePair.send(workId, bits);
                            case VerbsConstants.SEND_WITH_INVALIDATE ->
                                    queuePair.sendWithInvalidate(
                                            workId, bits, kernel.windows.stag(invalidate));
                            case VerbsConstants.WRITE ->
                                    queuePair.write(workId, bits, address, stag);
                            case VerbsConstants.READ -> queuePair.read(workId, bits, address, stag);
                            default -> kernel.problem("opcode " + opcode);
                        }
                        gather(ranges);
                    });
        }
        work(() -> queuePair.doorbell());
    }

    /** The RNIC has no such thing: a Write, and a message without bytes, of which the peer is told what it means. */
    private void writeWithImmediate(
            long workId, int bits, long address, int key, long[] ranges, int immediate) {
        if (kernel.kind != SoftwareKernel.Kind.ROCE) {
            kernel.problem("An RDMA Write with Immediate over iWARP");
        }
        if (ranges.length > 0) {
            queuePair.write(workId, 0, address, kernel.windows.stag(key));
            gather(ranges);
        }
        long length = 0;
        for (int i = 1; i < ranges.length; i += 3) {
            length += ranges[i];
        }
        kernel.immediates.put(
                new Message(queuePair.localAddress(), queuePair.remoteAddress(), messagesSent++),
                new Immediate(immediate, (int) length));
        queuePair.send(workId, bits);
    }

    /** What the peer's next message stands for; {@code null} for itself. */
    private Immediate nextImmediate() {
        return kernel.immediates.remove(
                new Message(
                        queuePair.remoteAddress(), queuePair.localAddress(), messagesReceived++));
    }

    private void gather(long[] ranges) {
        for (int i = 0; i < ranges.length; i += 3) {
            queuePair.gather(ranges[i], (int) ranges[i + 1], (int) ranges[i + 2]);
        }
    }

    /** What the device does without the peer: at once, while what the peer takes part in goes on. */
    private void postLocal(long at, long workId, int opcode, int invalidate) {
        SoftwareWindow window =
                opcode == VerbsConstants.BIND
                        ? kernel.find(
                                CMemory.getLong(at + WorkRequestLayout.BIND_WINDOW),
                                SoftwareWindow.class)
                        : null;
        SoftwareLibrary.Mr region =
                opcode == VerbsConstants.BIND
                        ? kernel.find(
                                CMemory.getLong(at + WorkRequestLayout.BIND_REGION),
                                SoftwareLibrary.Mr.class)
                        : null;
        int before =
                opcode == VerbsConstants.BIND
                        ? CMemory.getInt(window.pointer + StructLayouts.MW_KEY)
                        : 0;
        int key = CMemory.getInt(at + WorkRequestLayout.BIND_KEY);
        long address = CMemory.getLong(at + WorkRequestLayout.BIND_ADDRESS);
        int length = (int) CMemory.getLong(at + WorkRequestLayout.BIND_LENGTH);
        int access = CMemory.getInt(at + WorkRequestLayout.BIND_ACCESS);
        work(
                () -> {
                    if (opcode == VerbsConstants.LOCAL_INVALIDATE
                            && kernel.kind == SoftwareKernel.Kind.ROCE) {
                        kernel.problem("Had the peer invalidated it, Linux would have stopped");
                    }
                    boolean isDone =
                            opcode == VerbsConstants.BIND
                                    ? kernel.windows.bind(
                                            window, key, before, this, region, address, length,
                                            access)
                                    : kernel.windows.invalidate(this, invalidate);
                    sends.add(new Posted(workId, opcode, isDone ? 0 : WINDOW_ERROR));
                    completeLocal();
                    if (!isDone) {
                        queuePair.disconnect();
                    }
                });
    }

    private void completeLocal() {
        while (!sends.isEmpty() && sends.peek().status != NO_STATUS) {
            Posted done = sends.remove();
            queue.add(done.workId, done.status, done.opcode, 0, 0);
        }
    }

    void postReceive(long list) {
        for (long at = list; at != 0; at = CMemory.getLong(at + WorkRequestLayout.WR_NEXT)) {
            long workId = CMemory.getLong(at);
            long[] ranges = ranges(at, 1);
            work(
                    () -> {
                        receives.add(new Posted(workId, 128));
                        if (ranges.length == 0) {
                            queuePair.postReceive(workId, 0, 0, UNUSED_KEY);
                        } else {
                            queuePair.postReceive(
                                    workId, ranges[0], (int) ranges[1], (int) ranges[2]);
                        }
                    });
        }
    }

    private static long[] ranges(long request, int most) {
        int count = Math.min(most, CMemory.getInt(request + WorkRequestLayout.WR_RANGE_COUNT));
        long at = CMemory.getLong(request + WorkRequestLayout.WR_RANGES);
        long[] ranges = new long[3 * count];
        for (int i = 0; i < count; i++, at += WorkRequestLayout.RANGE_SIZE) {
            ranges[3 * i] = CMemory.getLong(at + WorkRequestLayout.RANGE_ADDRESS);
            ranges[3 * i + 1] = CMemory.getInt(at + WorkRequestLayout.RANGE_LENGTH);
            ranges[3 * i + 2] = CMemory.getInt(at + WorkRequestLayout.RANGE_KEY);
        }
        return ranges;
    }

    private static int flags(int flags) {
        int bits = 0;
        bits |= (flags & VerbsConstants.SIGNALED) != 0 ? QueuePair.SIGNALED : 0;
        bits |= (flags & VerbsConstants.FENCE) != 0 ? QueuePair.FENCE : 0;
        bits |= (flags & VerbsConstants.SOLICITED) != 0 ? QueuePair.SOLICITED : 0;
        return bits;
    }

    private void work(Runnable action) {
        kernel.rnic.execute(
                () -> {
                    if (closed) {
                        return;
                    }
                    try {
                        action.run();
                    } catch (RuntimeException e) {
                        kernel.problem("Posting failed: " + e);
                    }
                });
    }

    // ------------------------------------------------------------------ what the RNIC says

    @Override
    public void connected(byte[] data) {
        // The passive side hears no data again.
        id.event(CmEvent.Type.ESTABLISHED, 0, id.request == null ? data : new byte[0]);
        connected.countDown();
    }

    @Override
    public void connectFailed(Throwable cause) {
        if (cause instanceof RejectedException rejected) {
            boolean isIwarp = kernel.kind == SoftwareKernel.Kind.IWARP;
            id.event(
                    CmEvent.Type.REJECTED,
                    isIwarp ? REJECTED_STATUS : REJECTED_ROCE,
                    rejected.privateData());
        } else if (cause instanceof ConnectException
                && id.request == null
                && kernel.kind == SoftwareKernel.Kind.ROCE) {
            id.event(CmEvent.Type.REJECTED, NOBODY_ROCE, new byte[0]);
        } else if (cause instanceof ConnectException && id.request == null) {
            isRefused = true; // no event: the call says so
        } else {
            id.event(CmEvent.Type.CONNECT_ERROR, -1, new byte[0]);
        }
        connected.countDown();
    }

    @Override
    public void completed(long workId, WorkStatus status, int length, int invalidatedKey) {
        boolean isReceive = (workId & 1L << 31) != 0;
        ArrayDeque<Posted> posted = isReceive ? receives : sends;
        Posted done = posted.poll();
        while (done != null && done.workId != workId) {
            if (done.status != NO_STATUS) {
                queue.add(done.workId, done.status, done.opcode, 0, 0);
            }
            done = posted.poll();
        }
        if (done == null) {
            return; // the second half of a Write with Immediate whose first has failed
        }
        Immediate immediate = isReceive && status == WorkStatus.SUCCESS ? nextImmediate() : null;
        if (immediate != null) {
            queue.add(
                    workId,
                    0,
                    VerbsConstants.WC_RECEIVE_WRITTEN,
                    immediate.length,
                    immediate.value,
                    VerbsConstants.WC_WITH_IMMEDIATE);
            return;
        }
        int key = invalidatedKey == 0 ? 0 : kernel.windows.invalidated(invalidatedKey);
        queue.add(workId, code(status), done.opcode, length, key);
        completeLocal();
    }

    private static int code(WorkStatus status) {
        return switch (status) {
            case SUCCESS -> 0;
            case LOCAL_LENGTH_ERROR -> 1;
            case LOCAL_PROTECTION_ERROR -> 4;
            case REMOTE_ACCESS_ERROR -> 10;
            case REMOTE_OPERATION_ERROR -> 11;
            case FLUSHED -> VerbsConstants.FLUSHED;
        };
    }

    @Override
    public void disconnected(Throwable cause) {
        id.event(CmEvent.Type.DISCONNECTED, 0, new byte[0]);
    }
}
