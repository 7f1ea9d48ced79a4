// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC.IbvWcOpcode;
import com.ibm.disni.verbs.IbvWC.IbvWcStatus;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/**
 * A queue pair of the software RNIC with the numbers, completions and events of verbs. Work is done on the
 * device's thread.
 *
 * <p>As soft-iWARP it completes an RDMA Read after what was posted behind it, whose completion does not wait for the
 * answer of the peer. As soft-iWARP, too, it takes the first range of a Read and drops the others without a word.
 */
final class SoftwareQueuePair extends IbvQP implements QueuePairHandler {

    private static final AtomicInteger NUMBERS = new AtomicInteger(16);
    private static final int SEND_WITH_INVALIDATE = 9;
    private static final int READ_RANGES = 1;
    private static final long RECEIVE = 1L << 62;
    private static final byte[] NO_DATA = {};

    private record Posted(long sequence, long workId, IbvWcOpcode opcode, boolean isSignaled) {

        boolean isRead() {
            return opcode == IbvWcOpcode.IBV_WC_RDMA_READ;
        }
    }

    private final SoftwareDevice device;
    private final SoftwareId id;
    private final SoftwareCq sendQueue;
    private final SoftwareCq receiveQueue;
    private final ArrayDeque<Posted> sends = new ArrayDeque<>();
    private final ArrayDeque<Posted> receives = new ArrayDeque<>();

    /** Reads that wait for the completion of something behind them. */
    private final ArrayDeque<Completion> overtaken = new ArrayDeque<>();

    private QueuePair queuePair;

    /** Whether the connection manager has put it into the error state. */
    volatile boolean isBroken;

    private long sequence;

    SoftwareQueuePair(
            SoftwareDevice device, SoftwareId id, SoftwareCq sendQueue, SoftwareCq receiveQueue)
            throws IOException {
        super(NUMBERS.incrementAndGet());
        this.device = device;
        this.id = id;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.send_cq = sendQueue;
        this.recv_cq = receiveQueue;
        this.qp_type = IBV_QPT_RC;
    }

    void is(QueuePair made) {
        queuePair = made;
        device.made(this);
        sendQueue.users.incrementAndGet();
        receiveQueue.users.incrementAndGet();
    }

    InetSocketAddress localAddress() {
        return queuePair.localAddress();
    }

    void connect(InetSocketAddress remote, InetSocketAddress local, byte[] privateData) {
        if (isOpen()) {
            queuePair.connect(remote, local, privateData);
        }
    }

    void accept() {
        if (isOpen()) {
            queuePair.accept(NO_DATA);
        }
    }

    void disconnect() {
        if (isOpen()) {
            queuePair.disconnect();
        }
    }

    void destroy() throws IOException {
        device.call(() -> null); // what was posted before is posted
        close();
        device.destroyed(this);
        device.call(
                () -> {
                    queuePair.close();
                    if (device.provider.leavesCompletions()) {
                        sends.forEach(left -> sendQueue.add(flushed(left)));
                        receives.forEach(left -> receiveQueue.add(flushed(left)));
                    } else {
                        sendQueue.removeAll(this);
                        receiveQueue.removeAll(this);
                    }
                    return null;
                });
        sendQueue.users.decrementAndGet();
        receiveQueue.users.decrementAndGet();
    }

    private Completion flushed(Posted posted) {
        return new Completion(this, posted.workId, code(WorkStatus.FLUSHED), posted.opcode, 0, 0);
    }

    void postSends(List<SendRequest> requests) throws IOException {
        requireOpen();
        device.execute(() -> requests.forEach(this::postSend));
        device.execute(() -> work(queuePair::doorbell));
    }

    private void requireOpen() throws IOException {
        if (!isOpen()) {
            throw new IOException("Trying to post on closed QP");
        }
    }

    private void work(Runnable action) {
        if (!isOpen()) {
            return;
        }
        try {
            action.run();
        } catch (RuntimeException e) {
            device.provider.problem("Posting failed: " + e);
        }
    }

    private void postSend(SendRequest request) {
        work(
                () -> {
                    long number = ++sequence;
                    int flags = flags(request.flags());
                    IbvWcOpcode opcode = IbvWcOpcode.IBV_WC_SEND;
                    switch (request.opcode()) {
                        case IbvSendWR.IBV_WR_SEND -> queuePair.send(number, flags);
                        case SEND_WITH_INVALIDATE ->
                                queuePair.sendWithInvalidate(number, flags, request.immediate());
                        case IbvSendWR.IBV_WR_RDMA_WRITE -> {
                            opcode = IbvWcOpcode.IBV_WC_RDMA_WRITE;
                            queuePair.write(
                                    number, flags, request.remoteAddress(), request.remoteKey());
                        }
                        case IbvSendWR.IBV_WR_RDMA_READ -> {
                            opcode = IbvWcOpcode.IBV_WC_RDMA_READ;
                            request.ranges().forEach(this::checkSink);
                            queuePair.read(
                                    number, flags, request.remoteAddress(), request.remoteKey());
                        }
                        default ->
                                throw new IllegalArgumentException(
                                        "opcode " + request.opcode() + " is not supported");
                    }
                    boolean isSignaled = (flags & QueuePair.SIGNALED) != 0;
                    sends.add(new Posted(number, request.workId(), opcode, isSignaled));
                    List<Range> ranges = request.ranges();
                    if (opcode == IbvWcOpcode.IBV_WC_RDMA_READ && ranges.size() > READ_RANGES) {
                        ranges = ranges.subList(0, READ_RANGES);
                    }
                    for (Range range : ranges) {
                        queuePair.gather(range.address(), range.length(), range.key());
                    }
                });
    }

    /** The software RNIC does without; iWARP hardware does not. */
    private void checkSink(Range range) {
        SoftwareMr region = device.regions.get(range.key());
        if (region != null && (region.rights & IbvMr.IBV_ACCESS_REMOTE_WRITE) == 0) {
            device.provider.problem(
                    "The sink of an RDMA Read was registered without the right of remote writing");
        }
    }

    private static int flags(int flags) {
        int result = 0;
        if ((flags & IbvSendWR.IBV_SEND_SIGNALED) != 0) {
            result |= QueuePair.SIGNALED;
        }
        if ((flags & IbvSendWR.IBV_SEND_FENCE) != 0) {
            result |= QueuePair.FENCE;
        }
        if ((flags & IbvSendWR.IBV_SEND_SOLICITED) != 0) {
            result |= QueuePair.SOLICITED;
        }
        return result;
    }

    void postReceives(List<ReceiveRequest> requests) throws IOException {
        requireOpen();
        if (isBroken) {
            device.provider.problem(
                    "A receive was posted to a broken queue pair, where soft-iWARP and soft-RoCE"
                            + " never complete it");
        }
        device.execute(() -> requests.forEach(this::postReceive));
    }

    private void postReceive(ReceiveRequest request) {
        work(
                () -> {
                    long number = RECEIVE | ++sequence;
                    receives.add(
                            new Posted(number, request.workId(), IbvWcOpcode.IBV_WC_RECV, true));
                    Range range =
                            request.ranges().isEmpty()
                                    ? new Range(0, 0, 0)
                                    : request.ranges().get(0);
                    queuePair.postReceive(number, range.address(), range.length(), range.key());
                });
    }

    @Override
    public void connected(byte[] privateData) {
        id.event(EventType.RDMA_CM_EVENT_ESTABLISHED);
    }

    /** As the kernel does it for iWARP: see {@code cma_iw_handler}. */
    @Override
    public void connectFailed(Throwable cause) {
        if (cause instanceof NoRouteToHostException) {
            id.event(EventType.RDMA_CM_EVENT_UNREACHABLE);
        } else if (cause instanceof ConnectException) {
            id.event(EventType.RDMA_CM_EVENT_REJECTED);
        } else {
            id.event(EventType.RDMA_CM_EVENT_CONNECT_ERROR);
        }
    }

    @Override
    public void completed(long number, WorkStatus status, int length, int invalidatedKey) {
        boolean isReceive = (number & RECEIVE) != 0;
        ArrayDeque<Posted> posted = isReceive ? receives : sends;
        Posted done = posted.poll();
        while (done.sequence != number) {
            done = posted.poll();
        }
        Completion completion =
                new Completion(
                        this, done.workId, code(status), done.opcode, length, invalidatedKey);
        if (isReceive) {
            receiveQueue.add(completion);
        } else if (done.isRead() && status == WorkStatus.SUCCESS) {
            overtaken.add(completion);
            if (sends.stream().noneMatch(behind -> behind.isSignaled && !behind.isRead())) {
                completeOvertaken();
            }
        } else {
            sendQueue.add(completion);
            completeOvertaken();
        }
    }

    private void completeOvertaken() {
        overtaken.forEach(sendQueue::add);
        overtaken.clear();
    }

    private static IbvWcStatus code(WorkStatus status) {
        return switch (status) {
            case SUCCESS -> IbvWcStatus.IBV_WC_SUCCESS;
            case LOCAL_LENGTH_ERROR -> IbvWcStatus.IBV_WC_LOC_LEN_ERR;
            case LOCAL_PROTECTION_ERROR -> IbvWcStatus.IBV_WC_LOC_PROT_ERR;
            case REMOTE_ACCESS_ERROR -> IbvWcStatus.IBV_WC_REM_ACCESS_ERR;
            case REMOTE_OPERATION_ERROR -> IbvWcStatus.IBV_WC_REM_OP_ERR;
            case FLUSHED -> IbvWcStatus.IBV_WC_WR_FLUSH_ERR;
        };
    }

    @Override
    public void disconnected(Throwable cause) {
        id.event(EventType.RDMA_CM_EVENT_DISCONNECTED);
    }
}
