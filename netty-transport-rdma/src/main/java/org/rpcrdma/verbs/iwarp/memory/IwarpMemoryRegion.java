// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Consumer;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.iwarp.mpa.MemoryViewLender;

/**
 * Registered memory with reusable views, to avoid allocation per operation. Views are created lazily, because some
 * regions live for one operation only.
 */
public final class IwarpMemoryRegion implements MemoryRegion, MemoryViewLender {

    private static final ByteBuffer[] NONE = {};

    /** The table of this registration, and the action that ends it. */
    private final Object table;

    private final Consumer<IwarpMemoryRegion> deregister;

    /** All bytes of the region, for absolute reads only. */
    public final ByteBuffer memory;

    private ByteBuffer placement;
    private final long address;
    private final int length;
    private final int localKey;

    /** A free view: a region for one operation needs no more. */
    private ByteBuffer first;

    private ByteBuffer[] spare = NONE;
    private int spareCount;
    private int lent;
    private boolean registered = true;
    IwarpExposure exposures;

    IwarpMemoryRegion(
            Object table,
            Consumer<IwarpMemoryRegion> deregister,
            ByteBuffer memory,
            long address,
            int localKey) {
        this.table = table;
        this.deregister = deregister;
        this.memory = memory.slice();
        this.address = address;
        this.length = memory.remaining();
        this.localKey = localKey;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public int length() {
        return length;
    }

    @Override
    public int localKey() {
        return localKey;
    }

    @Override
    public void deregister() {
        if (registered) {
            deregister.accept(this);
            registered = false;
        }
    }

    boolean isRegistered() {
        return registered;
    }

    /** Whether it was registered there. */
    boolean isOf(Object memoryTable) {
        return table == memoryTable;
    }

    /** Whether views are in use: bytes of this memory wait in a socket's batch. */
    public boolean isLent() {
        return lent > 0;
    }

    /** Whether a range lies in this region. */
    public boolean contains(long rangeAddress, int bytes) {
        long offset = rangeAddress - address;
        return bytes >= 0 && bytes <= length && Long.compareUnsigned(offset, length - bytes) <= 0;
    }

    /** The index in {@link #memory} of an address that the region contains. */
    public int index(long rangeAddress) {
        return (int) (rangeAddress - address);
    }

    /** Takes a view of a range inside the region, until {@link #release}. */
    public ByteBuffer borrow(long rangeAddress, int bytes) {
        ByteBuffer view = first;
        if (view != null) {
            first = null;
        } else {
            view = spareCount > 0 ? spare[--spareCount] : memory.duplicate();
        }
        lent++;
        int index = index(rangeAddress);
        return view.limit(index + bytes).position(index);
    }

    @Override
    public void release(ByteBuffer view) {
        lent--;
        if (first == null) {
            first = view;
            return;
        }
        if (spareCount == spare.length) {
            spare = Arrays.copyOf(spare, Math.max(2, 2 * spareCount));
        }
        spare[spareCount++] = view;
    }

    /** The shared view for placing bytes into a range inside the region, valid until the next call. */
    public ByteBuffer placement(long rangeAddress, int bytes) {
        if (placement == null) {
            placement = memory.duplicate();
        }
        int index = index(rangeAddress);
        return placement.limit(index + bytes).position(index);
    }
}
