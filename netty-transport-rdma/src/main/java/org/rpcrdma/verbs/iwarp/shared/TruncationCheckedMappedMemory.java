// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Mapping of a file that another process can truncate; the only class that accesses it. Single-threaded.
 *
 * <p>HotSpot skips an access that faults: a load leaves anything behind, a store is lost. The {@code InternalError}
 * comes at a later entry into the JVM, which may be within code that has nothing to do with the memory: up to Java 17
 * the next slow allocation or collection, later versions the next safepoint poll. So accesses come in groups, and each
 * group ends in {@link #verify()} before anything else is done, which has the JVM throw at once what is pending. It
 * looks for a mark in the last page, which is gone once a truncation is complete, whatever follows. While the kernel
 * still unmaps pages, from low addresses to high ones, the mark may be there when a page that was copied is not: so
 * each such page is probed after its copy. Single words are in the page of the mark. Code between an access and the end
 * of its group changes nothing but the ring that the access belongs to.
 *
 * <p>There are no atomic updates: those of the interpreter of Java 17 are not guarded, and a fault in one of them ends
 * the process.
 */
class TruncationCheckedMappedMemory implements AutoCloseable {

    private static final VarHandle LONGS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static final VarHandle INTS =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    /** Replaces the memory after close: every access is refused. */
    private static final ByteBuffer GONE = ByteBuffer.allocateDirect(0);

    /** Not a constant, so that the compiler cannot fold it. */
    private static int noLength;

    /** Keeps compilers from leaving the allocation out. */
    @SuppressWarnings("UnusedVariable") // it is enough that somebody might read it
    private static volatile byte[][] allocated;

    /** No page of any machine is smaller. */
    private static final int PAGE_BYTES = 4096;

    private final ByteBuffer probe = ByteBuffer.allocateDirect(Long.BYTES);

    /** What a probe has of a page that is lost. No peer knows it; memory has it by chance once in 2<sup>64</sup>. */
    private final long unread;

    private final int markAt;
    private final long mark;

    /** {@code null} where the memory is the caller's. */
    private final FileMapping mapping;

    private ByteBuffer bytes;
    private boolean hasLostPage;

    /**
     * @param mapping the whole file; unmapped when this is closed
     * @param markAt where the mark is, in the last page
     * @param mark big-endian
     */
    TruncationCheckedMappedMemory(FileMapping mapping, int markAt, long mark) {
        this(mapping, mapping.memory(), markAt, mark, ThreadLocalRandom.current().nextLong());
    }

    /**
     * @param bytes the whole memory, which stays the caller's
     * @param markAt where the mark is, in the last page
     * @param mark big-endian
     */
    TruncationCheckedMappedMemory(ByteBuffer bytes, int markAt, long mark) {
        this(bytes, markAt, mark, ThreadLocalRandom.current().nextLong());
    }

    /** @param unread a page that begins with it, big-endian, passes for lost */
    TruncationCheckedMappedMemory(ByteBuffer bytes, int markAt, long mark, long unread) {
        this(null, bytes, markAt, mark, unread);
    }

    private TruncationCheckedMappedMemory(
            FileMapping mapping, ByteBuffer bytes, int markAt, long mark, long unread) {
        this.unread = unread;
        this.mapping = mapping;
        this.bytes = bytes;
        this.markAt = markAt;
        this.mark = mark;
    }

    /** A position that the peer publishes. */
    long acquire(int at) {
        return (long) LONGS.getAcquire(bytes, at);
    }

    /** Publishes a position with release semantics, after all earlier writes. */
    void release(int at, long value) {
        LONGS.setRelease(bytes, at, value);
    }

    /** A word that is published by a position. */
    long opaque(int at) {
        return (long) LONGS.getOpaque(bytes, at);
    }

    void opaque(int at, long value) {
        LONGS.setOpaque(bytes, at, value);
    }

    /** Sets a flag that the peer is to see before this end looks whether there is any need for it. */
    void announce(int flag, boolean isSet) {
        INTS.setVolatile(bytes, flag, isSet ? 1 : 0);
        VarHandle.fullFence();
    }

    /** Whether the peer has set a flag, after it could see the positions that were published before. */
    boolean isAnnounced(int flag) {
        VarHandle.fullFence();
        return (int) INTS.getOpaque(bytes, flag) != 0;
    }

    /** Clears a flag of the peer, which sets the flag again for further doorbells. */
    void withdraw(int flag) {
        INTS.setOpaque(bytes, flag, 0);
    }

    /** Copies bytes out. */
    void read(int at, ByteBuffer target, int to, int count) {
        target.put(to, bytes, at, count);
        probe(at, count);
    }

    /** Copies bytes in. */
    void write(int at, ByteBuffer source, int from, int count) {
        bytes.put(at, source, from, count);
        probe(at, count);
    }

    private void probe(int at, int count) {
        for (int page = at & -PAGE_BYTES; page < at + count; page += PAGE_BYTES) {
            hasLostPage |= copied(page, unread) == unread;
        }
    }

    /** Eight bytes; a copy that faults changes nothing, while a load would leave whatever was in the register. */
    private long copied(int at, long unlessItFaults) {
        probe.putLong(0, unlessItFaults);
        probe.put(0, bytes, at, Long.BYTES);
        return probe.getLong(0);
    }

    /** A number of the header, big-endian. */
    long header(int at) {
        return bytes.getLong(at);
    }

    void header(int at, long value) {
        bytes.putLong(at, value);
    }

    /**
     * Ends a group of accesses. All of them have reached the memory when it returns, unless whoever has cut the file
     * has also made it longer again and put the mark back, or has taken pages out of it while there is no space for
     * others: where a page that is written faults and one that is read does not, or space is made again at once.
     *
     * @throws LostMemoryException when that is not so; no error is pending then
     */
    void verify() throws LostMemoryException {
        if (hasLostPage || copied(markAt, ~mark) != mark) {
            throw lost(null);
        }
    }

    /**
     * Ends a group of accesses that has failed.
     *
     * @param fault thrown within the group, {@code null} for none
     */
    LostMemoryException lost(InternalError fault) {
        InternalError pending = pendingFault();
        return new LostMemoryException(fault == null ? pending : fault);
    }

    /**
     * Has HotSpot throw what is pending. It looks for that whenever its runtime returns to Java; compiled or not, code
     * always enters the runtime for an array of arrays whose lengths it does not know.
     *
     * @return the pending error, {@code null} for none
     */
    static InternalError pendingFault() {
        try {
            allocated = new byte[noLength][noLength];
            return null;
        } catch (InternalError e) {
            return e;
        }
    }

    /** Unmaps the memory, at once where the JVM can do that; all access is refused from now on. */
    @Override
    public void close() {
        if (bytes != GONE) {
            bytes = GONE;
            if (mapping != null) {
                mapping.close();
            }
        }
    }
}
