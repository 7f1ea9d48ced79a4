// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import org.rpcrdma.verbs.QueuePair;

/**
 * A range that one peer may reach under an STag: a tagged buffer in the sense of RFC 5041, 5.2.2. It is a part of a
 * region, or has no memory: then it is filled from its first byte on, with what is given for each segment.
 */
public final class Exposure {

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

    Exposure nextOfRegion;
    Exposure previousOfRegion;
    Exposure nextOfOwner;
    Exposure previousOfOwner;

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

    public int stag() {
        return stag;
    }

    /** The TO of the first byte, unsigned. It says nothing about where the memory is in this process. */
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
     * Whether a range lies inside, all numbers taken as unsigned; without memory what is filled is not inside any more,
     * and only the next byte may be the first. Never adds, so nothing can wrap.
     */
    public boolean contains(long taggedOffset, long bytes) {
        long distance = taggedOffset - offset;
        return bytes <= length
                && Long.compareUnsigned(distance, length - bytes) <= 0
                && (region != null || distance == filled);
    }

    /** Whether it gets its memory when bytes arrive; of a valid one. */
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

    /** Notes that bytes were placed, if it has no memory. */
    public void placed(int bytes) {
        if (region == null) {
            filled += bytes;
        }
    }

    /** The bytes that were placed, if it has no memory. */
    public int filled() {
        return filled;
    }

    /** Notes that bytes of it wait to be written, up to a position in the owner's outbound stream. */
    public void queuedUntil(long position) {
        queuedUntil = position;
    }

    /** The position up to which bytes of it were queued. */
    public long queuedUntil() {
        return queuedUntil;
    }
}
