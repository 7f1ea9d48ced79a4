// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.util.Arrays;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;

/**
 * The work requests of one stream, from posting to completion, in a ring of primitive arrays.
 *
 * <p>Positions count work requests since the stream began: {@code head} is the oldest that is not complete,
 * {@code next} the next to start, {@code posted} the end of what the doorbell has handed over, {@code tail} the end of
 * what was opened. They grow without a limit and are compared by difference.
 */
public final class SendQueue {

    /** The most memory ranges of a work request: they all fit one FPDU. */
    public static final int MAX_RANGES = FpduSender.MAX_PIECES;

    private static final int FIRST_SLOTS = 16;

    private static final long NOT_SENT = Long.MAX_VALUE;

    private final WorkCompletionHandler completions;
    private final int depth;
    private int mask;
    private long[] ids;
    private byte[] opcodes;
    private byte[] flagsOf;
    private long[] remoteAddresses;
    private int[] remoteKeys;
    private long[] lengths;
    private int[] firstRanges;
    private long[] endPositions;
    private WorkStatus[] results;

    private long[] rangeAddresses;
    private int[] rangeLengths;
    private int[] rangeKeys;
    private int rangeTail;

    private int head;
    private int sent;

    /** Other classes compare these: they are equal when no posted work request waits to start. */
    int next;

    int posted;
    private int tail;

    /** Whether a flush has completed something: no other work request is the oldest of the stream then. */
    private boolean isFlushed;

    // The work request that starts next, if there is one. Other classes read these.

    int opcode;
    int flags;
    long remoteAddress;
    int remoteKey;

    /** The bytes of all its ranges. */
    long length;

    /** Its first memory range: number, address, bytes and local key; of one without any they say nothing. */
    int firstRange;

    long firstAddress;
    int firstLength;
    int firstKey;

    /** @param depth the most work requests at a time */
    public SendQueue(int depth, WorkCompletionHandler completions) {
        this.completions = completions;
        this.depth = depth;
        // A power of two; an idle connection keeps few.
        int slots = Math.min(FIRST_SLOTS, Integer.highestOneBit(Math.max(depth, 1) * 2 - 1));
        mask = slots - 1;
        ids = new long[slots];
        opcodes = new byte[slots];
        flagsOf = new byte[slots];
        remoteAddresses = new long[slots];
        remoteKeys = new int[slots];
        lengths = new long[slots];
        firstRanges = new int[slots];
        endPositions = new long[slots];
        results = new WorkStatus[slots];
        rangeAddresses = new long[2 * slots];
        rangeLengths = new int[2 * slots];
        rangeKeys = new int[2 * slots];
    }

    /** Doubles the ring. Makes all arrays before it takes one: they fit each other where memory ends in between. */
    private void growSlots() {
        int slots = 2 * ids.length;
        long[] newIds = new long[slots];
        byte[] newOpcodes = new byte[slots];
        byte[] newFlags = new byte[slots];
        long[] newRemoteAddresses = new long[slots];
        int[] newRemoteKeys = new int[slots];
        long[] newLengths = new long[slots];
        int[] newFirstRanges = new int[slots];
        long[] newEndPositions = new long[slots];
        WorkStatus[] newResults = new WorkStatus[slots];
        for (int position = head; position != tail; position++) {
            int from = position & mask;
            int to = position & (slots - 1);
            newIds[to] = ids[from];
            newOpcodes[to] = opcodes[from];
            newFlags[to] = flagsOf[from];
            newRemoteAddresses[to] = remoteAddresses[from];
            newRemoteKeys[to] = remoteKeys[from];
            newLengths[to] = lengths[from];
            newFirstRanges[to] = firstRanges[from];
            newEndPositions[to] = endPositions[from];
            newResults[to] = results[from];
        }
        mask = slots - 1;
        ids = newIds;
        opcodes = newOpcodes;
        flagsOf = newFlags;
        remoteAddresses = newRemoteAddresses;
        remoteKeys = newRemoteKeys;
        lengths = newLengths;
        firstRanges = newFirstRanges;
        endPositions = newEndPositions;
        results = newResults;
    }

    /**
     * Opens a work request.
     *
     * @throws IllegalStateException when the queue is full
     */
    public void open(long id, int opcode, int flag, long remoteAddress, int remoteKey) {
        if (tail - head == depth) {
            throw new IllegalStateException(
                    "The send queue is full with "
                            + depth
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
        if (tail - head == ids.length) {
            growSlots();
        }
        int slot = tail++ & mask;
        ids[slot] = id;
        opcodes[slot] = (byte) opcode;
        flagsOf[slot] = (byte) flag;
        remoteAddresses[slot] = remoteAddress;
        remoteKeys[slot] = remoteKey;
        lengths[slot] = 0;
        firstRanges[slot] = rangeTail;
        endPositions[slot] = NOT_SENT;
        results[slot] = null;
    }

    /**
     * Adds a memory range to the work request opened last.
     *
     * @throws IllegalStateException when none is open
     * @throws IllegalArgumentException when the length is negative or there are too many ranges
     */
    public void gather(long address, int length, int key) {
        if (tail == posted) {
            throw new IllegalStateException(
                    "No work request is open; call send, write or read before gather");
        }
        if (length < 0) {
            throw new IllegalArgumentException(
                    "Length is " + length + ", expected 0 or more bytes");
        }
        int slot = (tail - 1) & mask;
        if (rangeTail - firstRanges[slot] == MAX_RANGES) {
            throw new IllegalArgumentException(
                    "A work request takes at most "
                            + MAX_RANGES
                            + " memory ranges; see maxScatterGather");
        }
        if (length == 0) {
            return;
        }
        if (rangeTail - firstRanges[head & mask] == rangeAddresses.length) {
            growRanges();
        }
        int range = rangeTail++ & (rangeAddresses.length - 1);
        rangeAddresses[range] = address;
        rangeLengths[range] = length;
        rangeKeys[range] = key;
        lengths[slot] += length;
    }

    private void growRanges() {
        int old = rangeAddresses.length;
        long[] addresses = Arrays.copyOf(rangeAddresses, 2 * old);
        int[] sizes = Arrays.copyOf(rangeLengths, 2 * old);
        int[] keys = Arrays.copyOf(rangeKeys, 2 * old);
        for (int range = rangeTail - old; range != rangeTail; range++) {
            int from = range & (old - 1);
            int to = range & (2 * old - 1);
            addresses[to] = rangeAddresses[from];
            sizes[to] = rangeLengths[from];
            keys[to] = rangeKeys[from];
        }
        rangeAddresses = addresses;
        rangeLengths = sizes;
        rangeKeys = keys;
    }

    /** Passes all opened work requests to the sender. */
    public void post() {
        posted = tail;
        loadNext();
    }

    private void loadNext() {
        if (next != posted) {
            int slot = next & mask;
            opcode = opcodes[slot];
            flags = flagsOf[slot];
            remoteAddress = remoteAddresses[slot];
            remoteKey = remoteKeys[slot];
            length = lengths[slot];
            firstRange = firstRanges[slot];
            int range = firstRange & (rangeAddresses.length - 1);
            firstAddress = rangeAddresses[range];
            firstLength = rangeLengths[range];
            firstKey = rangeKeys[range];
        }
    }

    /** The bytes of all ranges of a work request that has started. */
    long length(int position) {
        return lengths[position & mask];
    }

    /** The number of the first memory range of a work request that has started. */
    int firstRange(int position) {
        return firstRanges[position & mask];
    }

    long rangeAddress(int range) {
        return rangeAddresses[range & (rangeAddresses.length - 1)];
    }

    int rangeLength(int range) {
        return rangeLengths[range & (rangeLengths.length - 1)];
    }

    int rangeKey(int range) {
        return rangeKeys[range & (rangeKeys.length - 1)];
    }

    /** All segments of the next work request are queued, up to a position of the outbound stream. */
    void made(long endPosition) {
        endPositions[next++ & mask] = endPosition;
        loadNext();
    }

    /** TCP has taken all bytes up to a position of the outbound stream. */
    void written(long position) {
        while (sent != next && endPositions[sent & mask] <= position) {
            int slot = sent++ & mask;
            if (opcodes[slot] != RdmapOpcodes.READ_REQUEST) {
                results[slot] = WorkStatus.SUCCESS;
            }
        }
        completeInOrder();
    }

    /** The Read at a position has all its data. */
    void readDone(int position) {
        results[position & mask] = WorkStatus.SUCCESS;
        completeInOrder();
    }

    private void completeInOrder() {
        while (head != sent && results[head & mask] != null) {
            int slot = head & mask;
            if ((flagsOf[slot] & QueuePair.SIGNALED) != 0) {
                completions.complete(ids[slot], results[slot], 0, 0);
            }
            head++;
        }
    }

    /** Whether everything posted is complete. */
    public boolean isEmpty() {
        return head == posted;
    }

    /**
     * Completes everything that is not complete, posted or only opened. May be repeated where memory was lacking.
     *
     * @param oldest the status of the oldest work request that has started
     * @param starting the status of the one that was about to start
     */
    public void flush(WorkStatus oldest, WorkStatus starting) {
        while (head != tail) {
            WorkStatus status = WorkStatus.FLUSHED;
            if (head == next) {
                status = starting;
            } else if (!isFlushed) {
                status = oldest;
            }
            completions.complete(ids[head & mask], status, 0, 0);
            head++;
            isFlushed = true;
        }
        sent = tail;
        next = tail;
        posted = tail;
    }

    /** Whether the oldest work request is of that RDMAP opcode. */
    public boolean oldestIs(int opcode) {
        return head != tail && opcodes[head & mask] == opcode;
    }
}
