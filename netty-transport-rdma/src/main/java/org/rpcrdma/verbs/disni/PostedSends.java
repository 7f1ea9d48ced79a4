// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvSendWR;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;
import org.rpcrdma.verbs.QueuePair;

/**
 * The work requests of a send queue, from opening to completion: a ring of {@code ibv_send_wr}, each with room for its ranges
 * and linked to its successor for ever. A doorbell cuts the list behind the last one for the time of one call.
 *
 * <p>Positions count work requests: {@code head} is the oldest that is not complete, {@code posted} the end of what the device
 * has, {@code tail} the end of what was opened.
 */
final class PostedSends {

    /** What {@code libdisni} gives every queue pair. */
    static final int MAX_RANGES = 4;

    private final DataPath path;
    private final long tag;
    private final int depth;
    private final int mask;
    private final int size;
    private final int remoteAddress;
    private final int remoteKey;
    private final int rangeSize;
    private final int firstRange;
    private final NativeMemory memory;
    private final ReadSinks sinks;
    private final long[] ids;
    private final boolean[] signaled;
    private int head;
    private int posted;
    private int tail;

    /**
     * @param tag what the numbers of these work requests are marked with, see {@link WorkId}
     * @param depth the most work requests at a time
     * @param sinks made for so many ranges, for the memory of RDMA Reads
     */
    PostedSends(DataPath path, long tag, int depth, IntFunction<ReadSinks> sinks) {
        this.path = path;
        this.tag = tag;
        this.depth = depth;
        int slots = Math.max(2, Integer.highestOneBit(Math.max(depth, 1) * 2 - 1));
        this.sinks = sinks.apply(slots * MAX_RANGES);
        mask = slots - 1;
        size = Layout.sendSize();
        remoteAddress = Layout.remoteAddress();
        remoteKey = Layout.remoteKey();
        rangeSize = Layout.rangeSize();
        firstRange = slots * size;
        memory = new NativeMemory(slots * (size + MAX_RANGES * rangeSize));
        ids = new long[slots];
        signaled = new boolean[slots];
        for (int slot = 0; slot < slots; slot++) {
            memory.bytes.putLong(slot * size + Layout.WR_RANGES, memory.address(ranges(slot)));
            link(slot, memory.address(((slot + 1) & mask) * size));
        }
    }

    private int ranges(int slot) {
        return firstRange + slot * MAX_RANGES * rangeSize;
    }

    private void link(int slot, long next) {
        memory.bytes.putLong(slot * size + Layout.WR_NEXT, next);
    }

    void open(long id, int opcode, int flags, long address, int key) {
        if (tail - head == depth) {
            throw new IllegalStateException(
                    "The send queue is full with "
                            + depth
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
        int slot = tail & mask;
        int i = slot * size;
        ids[slot] = id;
        signaled[slot] = (flags & QueuePair.SIGNALED) != 0;
        ByteBuffer bytes = memory.bytes;
        bytes.putLong(i + Layout.WR_ID, WorkId.of(tag, tail));
        bytes.putInt(i + Layout.WR_RANGE_COUNT, 0);
        bytes.putInt(i + Layout.SEND_OPCODE, opcode);
        bytes.putInt(i + Layout.SEND_FLAGS, Opcodes.sendFlags(flags));
        bytes.putInt(i + Layout.SEND_INVALIDATE, key);
        bytes.putLong(i + remoteAddress, address);
        bytes.putInt(i + remoteKey, key);
        tail++;
    }

    void gather(long address, int length, int key) {
        if (tail == posted) {
            throw new IllegalStateException(
                    "No work request is open; call send, write or read before gather");
        }
        if (length < 0) {
            throw new IllegalArgumentException(
                    "Length is " + length + ", expected 0 or more bytes");
        }
        int slot = (tail - 1) & mask;
        ByteBuffer bytes = memory.bytes;
        int count = bytes.getInt(slot * size + Layout.WR_RANGE_COUNT);
        if (count == MAX_RANGES) {
            throw new IllegalArgumentException(
                    "A work request takes at most "
                            + MAX_RANGES
                            + " memory ranges; see maxScatterGather");
        }
        if (length == 0) {
            return; // verbs take a length of 0 for 2^31
        }
        int i = ranges(slot) + count * rangeSize;
        bytes.putLong(i + Layout.RANGE_ADDRESS, address);
        bytes.putInt(i + Layout.RANGE_LENGTH, length);
        bytes.putInt(
                i + Layout.RANGE_KEY,
                isRead(slot) ? sinks.open(slot * MAX_RANGES + count, address, length, key) : key);
        bytes.putInt(slot * size + Layout.WR_RANGE_COUNT, count + 1);
    }

    /**
     * Hands everything that is opened to the device, in one list. The last one is always signalled there: what follows an
     * unsignalled one would never tell of it, and its place would never come free.
     */
    void post(IbvQP queuePair) throws IOException {
        if (posted == tail) {
            return;
        }
        int first = (posted & mask) * size;
        int last = (tail - 1) & mask;
        int flags = last * size + Layout.SEND_FLAGS;
        memory.bytes.putInt(flags, memory.bytes.getInt(flags) | IbvSendWR.IBV_SEND_SIGNALED);
        link(last, 0);
        posted = tail;
        try {
            path.postSend(queuePair, memory, first);
        } finally {
            link(last, memory.address(((last + 1) & mask) * size));
        }
    }

    /** The oldest that is not complete becomes the one after a position. False when that is complete already. */
    boolean completeTo(int position) {
        int end = position + 1;
        if (end - head <= 0 || end - tail > 0) {
            return false;
        }
        while (head != end) {
            closeSinks(head++ & mask);
        }
        return true;
    }

    private boolean isRead(int slot) {
        return memory.bytes.getInt(slot * size + Layout.SEND_OPCODE) == IbvSendWR.IBV_WR_RDMA_READ;
    }

    private void closeSinks(int slot) {
        if (isRead(slot)) {
            for (int n = memory.bytes.getInt(slot * size + Layout.WR_RANGE_COUNT); n > 0; n--) {
                sinks.close(slot * MAX_RANGES + n - 1);
            }
        }
    }

    /** Nothing is reported any more. The device must have lost the queue pair. */
    void close() {
        completeTo(tail - 1);
    }

    /** Whether a work request wants its success reported. */
    boolean isSignaled(int position) {
        return signaled[position & mask];
    }

    /** The number that a work request was given by its owner. */
    long id(int position) {
        return ids[position & mask];
    }

    /** The position of the oldest one that is not complete. */
    int head() {
        return head;
    }

    /** Whether the device has nothing left to do. */
    boolean isIdle() {
        return head == posted;
    }

    /** Whether there is nothing, not even opened. */
    boolean isEmpty() {
        return head == tail;
    }
}
