// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The receives of a queue pair, from posting to completion: a ring of {@code ibv_recv_wr} with one range each, linked as in
 * {@link PostedSends}. They gather until they are handed to the device together.
 */
final class PostedReceives {

    private final DataPath path;
    private final long tag;
    private final int depth;
    private final int mask;
    private final int size;
    private final int rangeSize;
    private final int firstRange;
    private final NativeMemory memory;
    private final long[] ids;
    private int head;
    private int posted;
    private int tail;

    PostedReceives(DataPath path, long tag, int depth) {
        this.path = path;
        this.tag = tag;
        this.depth = depth;
        int slots = Math.max(2, Integer.highestOneBit(Math.max(depth, 1) * 2 - 1));
        mask = slots - 1;
        size = Layout.receiveSize();
        rangeSize = Layout.rangeSize();
        firstRange = slots * size;
        memory = new NativeMemory(slots * (size + rangeSize));
        ids = new long[slots];
        for (int slot = 0; slot < slots; slot++) {
            int i = slot * size;
            memory.bytes.putLong(
                    i + Layout.WR_RANGES, memory.address(firstRange + slot * rangeSize));
            link(slot, memory.address(((slot + 1) & mask) * size));
        }
    }

    private void link(int slot, long next) {
        memory.bytes.putLong(slot * size + Layout.WR_NEXT, next);
    }

    void add(long id, long address, int length, int key) {
        if (tail - head == depth) {
            throw new IllegalStateException(
                    "The receive queue is full with "
                            + depth
                            + " receives; raise QueuePairConfig.receiveDepth");
        }
        if (length < 0) {
            throw new IllegalArgumentException(
                    "Length is " + length + ", expected 0 or more bytes");
        }
        int slot = tail & mask;
        ids[slot] = id;
        ByteBuffer bytes = memory.bytes;
        bytes.putLong(slot * size + Layout.WR_ID, WorkId.of(tag, tail));
        // Verbs take a length of 0 for 2^31: no range is what has no bytes.
        bytes.putInt(slot * size + Layout.WR_RANGE_COUNT, length == 0 ? 0 : 1);
        int i = firstRange + slot * rangeSize;
        bytes.putLong(i + Layout.RANGE_ADDRESS, address);
        bytes.putInt(i + Layout.RANGE_LENGTH, length);
        bytes.putInt(i + Layout.RANGE_KEY, key);
        tail++;
    }

    /** Hands all that have gathered to the device. */
    void post(IbvQP queuePair) throws IOException {
        if (posted == tail) {
            return;
        }
        int first = (posted & mask) * size;
        int last = (tail - 1) & mask;
        link(last, 0);
        posted = tail;
        try {
            path.postReceive(queuePair, memory, first);
        } finally {
            link(last, memory.address(((last + 1) & mask) * size));
        }
    }

    /** Completes the oldest, which has to be that one. False when it is not: it is complete already. */
    boolean complete(int position) {
        if (position != head || isEmpty()) {
            return false;
        }
        head++;
        return true;
    }

    long id(int position) {
        return ids[position & mask];
    }

    int head() {
        return head;
    }

    /** Whether the device has none. */
    boolean isIdle() {
        return head == posted;
    }

    boolean isEmpty() {
        return head == tail;
    }
}
