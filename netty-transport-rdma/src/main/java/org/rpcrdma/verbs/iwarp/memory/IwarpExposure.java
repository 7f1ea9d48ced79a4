// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import org.rpcrdma.verbs.QueuePair;

/**
 * Range exposed to one peer under an STag: a tagged buffer in the sense of RFC 5041, 5.2.2. Either a part of a region,
 * or without memory: then it is filled sequentially from its first byte, into memory allocated for each segment.
 */
public final class IwarpExposure {

    int stag;

    /** {@code null} if it has no memory, or is not valid. */
    IwarpMemoryRegion region;

    ExposureOwner owner;
    long address;
    long offset;
    int length;
    private int access;
    private long queuedUntil;

    /** Of a range without memory, the bytes that were placed. */
    private int filled;

    IwarpExposure nextOfRegion;
    IwarpExposure previousOfRegion;
    IwarpExposure nextOfOwner;
    IwarpExposure previousOfOwner;

    void set(
            IwarpMemoryRegion memory,
            long start,
            int bytes,
            int rights,
            long taggedOffset,
            ExposureOwner stream) {
        region = memory;
        address = start;
        length = bytes;
        access = rights;
        offset = taggedOffset;
        owner = stream;
        queuedUntil = 0;
        filled = 0;
    }

    /** Ends the exposure; its STag is kept. */
    void clear() {
        region = null;
        owner = null;
    }

    public int stag() {
        return stag;
    }

    /** The TO of the first byte, unsigned. Unrelated to the address of the memory in this process. */
    public long offset() {
        return offset;
    }

    /** The stream whose peer may use it, {@code null} once it is invalid. */
    public ExposureOwner owner() {
        return owner;
    }

    /** Whether the peer of a stream may use it: it is valid, and exposed to that peer. */
    public boolean admits(ExposureOwner stream) {
        return owner != null && owner.admits(stream);
    }

    /** Whether the peer may read. */
    public boolean isReadable() {
        return (access & QueuePair.REMOTE_READ) != 0;
    }

    /** Whether the peer may write. */
    public boolean isWritable() {
        return (access & QueuePair.REMOTE_WRITE) != 0;
    }

    /**
     * Whether a range lies inside, with unsigned arithmetic that cannot overflow because it never adds. Without memory,
     * the range must begin at the next byte to fill.
     */
    public boolean contains(long taggedOffset, long bytes) {
        long distance = taggedOffset - offset;
        return bytes <= length
                && Long.compareUnsigned(distance, length - bytes) <= 0
                && (region != null || distance == filled);
    }

    /** Whether memory is allocated when bytes arrive; only for a valid exposure. */
    public boolean isWithoutMemory() {
        return region == null;
    }

    public IwarpMemoryRegion region() {
        return region;
    }

    /** The local address of a TO that is inside. */
    public long address(long taggedOffset) {
        return address + (taggedOffset - offset);
    }

    /** Counts placed bytes, if without memory. */
    public void placed(int bytes) {
        if (region == null) {
            filled += bytes;
        }
    }

    /** Number of placed bytes, if without memory. */
    public int filled() {
        return filled;
    }

    /** Records that bytes of this range are queued up to a position in the owner's outbound stream. */
    public void queuedUntil(long position) {
        queuedUntil = position;
    }

    /** The position up to which bytes of this range are queued. */
    public long queuedUntil() {
        return queuedUntil;
    }
}
