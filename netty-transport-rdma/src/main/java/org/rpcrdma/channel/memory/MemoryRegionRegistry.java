// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.NativeAddress;

/**
 * Registry of the memory regions of one device context: finds the region of an address, among the {@linkplain Slab
 * slabs} of a pool and registered memory of users.
 */
final class MemoryRegionRegistry {

    private final EventLoopVerbsContext context;
    private final DirectMemoryBudget budget;

    /** Whether Netty can access memory by its address. */
    final boolean hasUnsafe = PlatformDependent.hasUnsafe();

    /** By ascending address of their regions. */
    private Slab[] slabs = new Slab[16];

    private int count;
    private Slab lastFound;
    private long nextVirtualAddress = 1L << 20;

    /** Written on the event loop only; other threads may read a slightly old value. */
    long bytes;

    /** Written as {@link #bytes}. */
    private long registrations;

    /** @param budget that allocates and frees the memory of slabs */
    MemoryRegionRegistry(EventLoopVerbsContext context, DirectMemoryBudget budget) {
        this.context = context;
        this.budget = budget;
    }

    /** Registrations that were made, those that have ended included. Any thread. */
    long registrations() {
        return registrations;
    }

    /**
     * Creates a slab.
     *
     * @param memory from the budget, returned to it if registration fails
     */
    Slab make(ByteBuffer memory) {
        MemoryRegion region = null;
        try {
            long address = NativeAddress.of(memory);
            region = register(memory, address);
            // Forces a device with lazy registration to register now, or to refuse.
            region.localKey();
            Slab slab = new Slab(memory, address, region);
            insert(slab);
            bytes += slab.size;
            return slab;
        } catch (Throwable t) {
            if (region != null) {
                region.forget();
            }
            budget.free(memory);
            throw t;
        }
    }

    private void insert(Slab slab) {
        if (count == slabs.length) {
            slabs = Arrays.copyOf(slabs, 2 * count);
        }
        int i = indexAfter(slab.region.address());
        System.arraycopy(slabs, i, slabs, i + 1, count - i);
        slabs[i] = slab;
        count++;
    }

    /**
     * Frees an unused slab.
     *
     * @param isRegistered {@code false} after {@link #forgetAll}
     */
    void free(Slab slab, boolean isRegistered) {
        int i = indexAfter(slab.region.address()) - 1;
        System.arraycopy(slabs, i + 1, slabs, i, --count - i);
        slabs[count] = null;
        lastFound = null;
        bytes -= slab.size;
        if (isRegistered) {
            slab.region.forget();
        }
        budget.free(slab.memory);
    }

    /** Ends all registrations of slabs, which keep their memory. */
    void forgetAll() {
        for (int i = 0; i < count; i++) {
            slabs[i].region.forget();
        }
    }

    /** The region of the slab that holds these bytes, or {@code null} when none does. */
    MemoryRegion region(long address, int length) {
        if (!holds(lastFound, address, length)) {
            int i = indexAfter(address) - 1;
            if (i < 0 || !holds(slabs[i], address, length)) {
                return null;
            }
            lastFound = slabs[i];
        }
        return lastFound.region;
    }

    /** The index of the first slab that starts after that address. */
    private int indexAfter(long address) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (slabs[middle].registered <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static boolean holds(Slab slab, long address, int length) {
        return slab != null
                && address >= slab.registered
                && address - slab.registered <= slab.size - length;
    }

    /**
     * Registers memory outside of slabs, until {@link MemoryRegion#deregister()}.
     *
     * @param buffer direct and in one piece
     */
    MemoryRegion register(ByteBuf buffer, int index, int length) {
        ByteBuffer memory = buffer.nioBuffer(index, length);
        return register(
                memory,
                buffer.hasMemoryAddress()
                        ? buffer.memoryAddress() + index
                        : NativeAddress.of(memory));
    }

    private MemoryRegion register(ByteBuffer memory, long address) {
        long known = address;
        if (known == 0) {
            // The address is unknown: use any that no other region has.
            known = nextVirtualAddress;
            nextVirtualAddress += memory.remaining() + 4096L;
        }
        MemoryRegion region = context.register(memory, known);
        registrations++;
        return region;
    }
}
