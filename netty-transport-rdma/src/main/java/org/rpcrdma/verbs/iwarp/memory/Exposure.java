// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import org.rpcrdma.verbs.QueuePair;

/** A range of a region that one peer may reach under an STag: a tagged buffer in the sense of RFC 5041, 5.2.2. */
public final class Exposure {

    int stag;
    IwarpMemoryRegion region;
    ExposureOwner owner;
    long address;
    long offset;
    int length;
    private int access;
    private long queuedUntil;
    private int written;

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
        written = 0;
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

    /** Whether a range lies inside, all numbers taken as unsigned. Never adds, so nothing can wrap. */
    public boolean contains(long taggedOffset, long bytes) {
        long distance = taggedOffset - offset;
        return bytes <= length && Long.compareUnsigned(distance, length - bytes) <= 0;
    }

    public IwarpMemoryRegion region() {
        return region;
    }

    /** The local address of a TO that is inside. */
    public long address(long taggedOffset) {
        return address + (taggedOffset - offset);
    }

    /** Notes that bytes were written at a TO that is inside. What was left out before them becomes zero. */
    public void written(long taggedOffset, int bytes) {
        if ((access & QueuePair.BLANK) == 0) {
            return;
        }
        int start = (int) (taggedOffset - offset);
        if (start > written) {
            region.clear(address + written, start - written);
        }
        written = Math.max(written, start + bytes);
    }

    /** The bytes of a range that was blank up to the last one that was written. */
    public int written() {
        return written;
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
