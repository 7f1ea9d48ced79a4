// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvSendWR;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;
import org.rpcrdma.verbs.QueuePair;

/**
 * The work requests of a send queue: {@code ibv_send_wr}.
 *
 * <p>They are taken off in the order in which they were opened, whatever the order of their completions: soft-iWARP completes a
 * Send as soon as it is sent, also behind a Read that still waits for the peer's answer. So a Read is complete when that is
 * said of itself, and the others when it is said of them or of one behind.
 */
final class PostedSends extends PostedRing {

    /** What {@code libdisni} gives every queue pair. */
    static final int MAX_RANGES = 4;

    private static final int UNKNOWN = -1;

    private final int remoteAddress = Layout.remoteAddress();
    private final int remoteKey = Layout.remoteKey();
    private final ReadSinks sinks;
    private final boolean[] signaled;

    /** What the device has said of each, an {@code ibv_wc_status} or {@code UNKNOWN}. */
    private final int[] statuses;

    /** The position behind the last one that the device has completed. */
    private int completed;

    private boolean hasFailed;

    /**
     * @param sinks made for so many ranges, for the memory of RDMA Reads
     */
    PostedSends(DataPath path, long tag, int depth, IntFunction<ReadSinks> sinks) {
        super(path, tag, depth, Layout.sendSize(), MAX_RANGES);
        this.sinks = sinks.apply(slots(depth) * MAX_RANGES);
        signaled = new boolean[slots(depth)];
        statuses = new int[slots(depth)];
    }

    void open(long id, int opcode, int flags, long address, int key) {
        if (isFull()) {
            throw new IllegalStateException(
                    "The send queue is full with "
                            + depth()
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
        int slot = open(id);
        int i = slot * size;
        signaled[slot] = (flags & QueuePair.SIGNALED) != 0;
        statuses[slot] = UNKNOWN;
        ByteBuffer bytes = memory.bytes;
        bytes.putInt(i + Layout.WR_RANGE_COUNT, 0);
        bytes.putInt(i + Layout.SEND_OPCODE, opcode);
        bytes.putInt(
                i + Layout.SEND_FLAGS,
                Opcodes.sendFlags(
                        opcode == IbvSendWR.IBV_WR_RDMA_READ ? flags | QueuePair.SIGNALED : flags));
        bytes.putInt(i + Layout.SEND_INVALIDATE, key);
        bytes.putLong(i + remoteAddress, address);
        bytes.putInt(i + remoteKey, key);
    }

    void gather(long address, int length, int key) {
        if (tail == posted) {
            throw new IllegalStateException(
                    "No work request is open; call send, write or read before gather");
        }
        checkLength(length);
        int slot = (tail - 1) & mask;
        int count = ranges(slot);
        if (count == MAX_RANGES) {
            throw new IllegalArgumentException(
                    "A work request takes at most "
                            + MAX_RANGES
                            + " memory ranges; see maxScatterGather");
        }
        if (length == 0) {
            return; // verbs take a length of 0 for 2^31
        }
        int local =
                isRead(slot) ? sinks.open(slot * MAX_RANGES + count, address, length, key) : key;
        range(slot, count, address, length, local);
        memory.bytes.putInt(slot * size + Layout.WR_RANGE_COUNT, count + 1);
    }

    /**
     * The last one is always signalled to the device: what follows an unsignalled one would never tell of it, and its place
     * would never come free.
     */
    @Override
    void post(IbvQP queuePair) throws IOException {
        if (posted != tail) {
            int flags = ((tail - 1) & mask) * size + Layout.SEND_FLAGS;
            memory.bytes.putInt(flags, memory.bytes.getInt(flags) | IbvSendWR.IBV_SEND_SIGNALED);
        }
        super.post(queuePair);
    }

    @Override
    void post(IbvQP queuePair, int first) throws IOException {
        path.postSend(queuePair, memory, first);
    }

    /**
     * Notes what the device says of a work request. What it has completed before, or never had, is left alone.
     *
     * @param status an {@code ibv_wc_status}
     */
    void complete(int position, int status) {
        if (position - head < 0 || position - posted >= 0) {
            return;
        }
        statuses[position & mask] = status;
        if (position - completed >= 0) {
            completed = position + 1;
        }
    }

    /** Whether the oldest one is complete. */
    boolean isHeadComplete() {
        int slot = head & mask;
        return completed - head > 0 && (!isRead(slot) || statuses[slot] != UNKNOWN);
    }

    /**
     * Takes the oldest one off.
     *
     * @return its {@code ibv_wc_status}. Behind one that has failed there is no success, since nobody could tell by which of
     *     them the connection ended
     */
    int removeHead() {
        int slot = head & mask;
        closeSinks(slot);
        head++;
        int status = statuses[slot] == UNKNOWN ? Opcodes.SUCCESS : statuses[slot];
        if (hasFailed && status == Opcodes.SUCCESS) {
            return Opcodes.FLUSHED;
        }
        hasFailed |= status != Opcodes.SUCCESS;
        return status;
    }

    private int ranges(int slot) {
        return memory.bytes.getInt(slot * size + Layout.WR_RANGE_COUNT);
    }

    private boolean isRead(int slot) {
        return memory.bytes.getInt(slot * size + Layout.SEND_OPCODE) == IbvSendWR.IBV_WR_RDMA_READ;
    }

    private void closeSinks(int slot) {
        if (isRead(slot)) {
            for (int n = ranges(slot); n > 0; n--) {
                sinks.close(slot * MAX_RANGES + n - 1);
            }
        }
    }

    /** Nothing is reported any more. The device must have lost the queue pair. */
    void close() {
        while (!isEmpty()) {
            removeHead();
        }
    }

    /** Whether a work request wants its success reported. */
    boolean isSignaled(int position) {
        return signaled[position & mask];
    }
}
