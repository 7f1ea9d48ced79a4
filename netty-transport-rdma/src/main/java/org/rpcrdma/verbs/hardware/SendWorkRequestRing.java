// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;
import java.util.function.ToLongFunction;
import org.rpcrdma.verbs.QueuePair;

/**
 * The work requests of a send queue: {@code ibv_send_wr}.
 *
 * <p>They are taken off in the order in which they were opened, whatever the order of their completions: soft-iWARP
 * completes a Send as soon as it is sent, also behind a Read that still waits for the peer's answer. So a Read is
 * complete when that is said of itself, and the others when it is said of them or of one behind.
 *
 * <p>A Read with more ranges than the device takes in one goes to it as several, which follow each other in the ring
 * and end as one.
 */
final class SendWorkRequestRing extends AbstractWorkRequestRing {

    private static final int UNKNOWN = -1;

    private final int ranges;
    private final ReadSinkKeys sinks;
    private final boolean[] signaled;

    /** The most ranges that the device reads into at a time. */
    private final int readRanges;

    /** Of the first of each: how many structures it takes. */
    private final int[] parts;

    /** The first structure of the work request that was opened last. */
    private int opened;

    /** Status of each work request, an {@code ibv_wc_status} or {@code UNKNOWN}. */
    private final int[] statuses;

    /** Position after the last work request completed by the device. */
    private int completed;

    /** Whether each work request is internal, and not reported. */
    private final boolean[] own;

    /** The most work requests of the user, and of the machine itself, at a time. */
    private final int users;

    private final int owns;
    private int ownCount;
    private boolean hasFailed;

    /**
     * @param users the most work requests of the user at a time
     * @param owns the most of the machine itself, which bind memory windows
     * @param ranges the most of a work request
     * @param readRanges the most ranges that the device reads into with one Read, at least 1
     * @param sinks made for so many ranges, for the memory of RDMA Reads
     */
    SendWorkRequestRing(
            ToLongFunction<ByteBuffer> addresses,
            long tag,
            int users,
            int owns,
            int ranges,
            int readRanges,
            IntFunction<ReadSinkKeys> sinks) {
        super(addresses, tag, users + owns, WorkRequestLayout.SEND_SIZE, ranges);
        int slots = mask + 1;
        this.users = users;
        this.owns = owns;
        this.sinks = sinks.apply(slots * ranges);
        this.ranges = ranges;
        this.readRanges = readRanges;
        signaled = new boolean[slots];
        own = new boolean[slots];
        parts = new int[slots];
        statuses = new int[slots];
    }

    void open(long id, int opcode, int flags, long address, int key) {
        requireRoom();
        opened = tail & mask;
        parts[opened] = 0;
        openPart(id, opcode, flags, address, key);
    }

    /** Opens an RDMA Write with Immediate. */
    void openWithImmediate(long id, int flags, long address, int key, int immediate) {
        open(id, VerbsConstants.WRITE_WITH_IMMEDIATE, flags, address, key);
        memory.bytes.putInt(
                opened * size + WorkRequestLayout.SEND_IMMEDIATE,
                VerbsConstants.immediate(immediate));
    }

    private void requireRoom() {
        if (count() - ownCount == users) {
            throw new IllegalStateException(
                    "The send queue is full with "
                            + users
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
    }

    /** Whether there is room for one more work request of the machine itself. */
    boolean hasOwnRoom() {
        return ownCount < owns;
    }

    /** Opens a work request that binds a window. */
    void bind(long window, int key, long region, long address, int length, int access) {
        int i = openOwn(VerbsConstants.BIND, 0);
        ByteBuffer bytes = memory.bytes;
        bytes.putLong(i + WorkRequestLayout.BIND_WINDOW, window);
        bytes.putInt(i + WorkRequestLayout.BIND_KEY, key);
        bytes.putLong(i + WorkRequestLayout.BIND_REGION, region);
        bytes.putLong(i + WorkRequestLayout.BIND_ADDRESS, address);
        bytes.putLong(i + WorkRequestLayout.BIND_LENGTH, length);
        bytes.putInt(i + WorkRequestLayout.BIND_ACCESS, access);
    }

    /** Opens a work request that invalidates a key of this side. */
    void invalidate(int key) {
        openOwn(VerbsConstants.LOCAL_INVALIDATE, key);
    }

    private int openOwn(int opcode, int key) {
        opened = tail & mask;
        parts[opened] = 0;
        openPart(0, opcode, 0, 0, key);
        own[opened] = true;
        ownCount++;
        return opened * size;
    }

    /** The {@code wr_id} of the work request that was opened last. */
    long lastWorkId() {
        return workId(tail - 1);
    }

    private void openPart(long id, int opcode, int flags, long address, int key) {
        int slot = open(id);
        parts[opened]++;
        int i = slot * size;
        own[slot] = false;
        signaled[slot] = (flags & QueuePair.SIGNALED) != 0;
        statuses[slot] = UNKNOWN;
        ByteBuffer bytes = memory.bytes;
        bytes.putInt(i + WorkRequestLayout.WR_RANGE_COUNT, 0);
        bytes.putInt(i + WorkRequestLayout.SEND_OPCODE, opcode);
        bytes.putInt(
                i + WorkRequestLayout.SEND_FLAGS,
                VerbsConstants.sendFlags(
                        opcode == VerbsConstants.READ ? flags | QueuePair.SIGNALED : flags));
        bytes.putInt(i + WorkRequestLayout.SEND_INVALIDATE, key);
        bytes.putLong(i + WorkRequestLayout.SEND_REMOTE_ADDRESS, address);
        bytes.putInt(i + WorkRequestLayout.SEND_REMOTE_KEY, key);
    }

    void gather(long address, int length, int key) {
        if (tail == posted) {
            throw new IllegalStateException(
                    "No work request is open; call send, write or read before gather");
        }
        checkLength(length);
        int slot = (tail - 1) & mask;
        int count = rangeCount(slot);
        if (count + (parts[opened] - 1) * readRanges == ranges) {
            throw new IllegalArgumentException(
                    "A work request takes at most "
                            + ranges
                            + " memory ranges; see maxScatterGather");
        }
        if (length == 0) {
            return; // verbs take a length of 0 for 2^31
        }
        if (count == readRanges && isRead(slot)) {
            openNextPart(slot);
            slot = (tail - 1) & mask;
            count = 0;
        }
        int local = isRead(slot) ? sinks.open(slot * ranges + count, address, length, key) : key;
        range(slot, count, address, length, local);
        memory.bytes.putInt(slot * size + WorkRequestLayout.WR_RANGE_COUNT, count + 1);
    }

    /** The Read goes on where the ranges of its last part end. */
    private void openNextPart(int last) {
        requireRoom();
        int i = last * size;
        openPart(
                id(tail - 1),
                VerbsConstants.READ,
                signaled[last] ? QueuePair.SIGNALED : 0,
                memory.bytes.getLong(i + WorkRequestLayout.SEND_REMOTE_ADDRESS) + length(last),
                memory.bytes.getInt(i + WorkRequestLayout.SEND_REMOTE_KEY));
    }

    /**
     * The last one is always signalled to the device: what follows an unsignalled one would never tell of it, and its
     * place would never come free.
     */
    @Override
    void post(NativeQueuePair queuePair) throws IOException {
        if (posted != tail) {
            int flags = ((tail - 1) & mask) * size + WorkRequestLayout.SEND_FLAGS;
            memory.bytes.putInt(flags, memory.bytes.getInt(flags) | VerbsConstants.SIGNALED);
        }
        super.post(queuePair);
    }

    @Override
    void post(NativeQueuePair queuePair, int first) throws IOException {
        queuePair.postSend(memory, first);
    }

    /**
     * Records the device's status of a work request. Ignores work requests already completed or never posted.
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
        for (int part = 0; part < parts[head & mask]; part++) {
            int slot = (head + part) & mask;
            if (completed - head <= part || (isRead(slot) && statuses[slot] == UNKNOWN)) {
                return false;
            }
        }
        return !isEmpty();
    }

    /**
     * Takes the oldest one off.
     *
     * @return its {@code ibv_wc_status}. Behind one that has failed there is no success, since nobody could tell by
     *     which of them the connection ended
     */
    int removeHead() {
        int status = VerbsConstants.SUCCESS;
        for (int left = parts[head & mask]; left > 0; left--) {
            int slot = head & mask;
            closeSinks(slot);
            ownCount -= own[slot] ? 1 : 0;
            head++;
            if (status == VerbsConstants.SUCCESS && statuses[slot] != UNKNOWN) {
                status = statuses[slot];
            }
        }
        if (hasFailed && status == VerbsConstants.SUCCESS) {
            return VerbsConstants.FLUSHED;
        }
        hasFailed |= status != VerbsConstants.SUCCESS;
        return status;
    }

    private int rangeCount(int slot) {
        return memory.bytes.getInt(slot * size + WorkRequestLayout.WR_RANGE_COUNT);
    }

    private long length(int slot) {
        long length = 0;
        for (int n = rangeCount(slot); n > 0; n--) {
            length += rangeLength(slot, n - 1);
        }
        return length;
    }

    private boolean isRead(int slot) {
        return memory.bytes.getInt(slot * size + WorkRequestLayout.SEND_OPCODE)
                == VerbsConstants.READ;
    }

    private void closeSinks(int slot) {
        if (isRead(slot)) {
            for (int n = rangeCount(slot); n > 0; n--) {
                sinks.close(slot * ranges + n - 1);
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

    /** Whether a work request is internal, and not reported. */
    boolean isOwn(int position) {
        return own[position & mask];
    }
}
