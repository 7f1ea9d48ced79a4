// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;
import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.Set;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Memory of one context. The device knows it as up to two registrations, each made when it is first needed: one for local use,
 * and one that all peers of the context share, if memory is exposed that way.
 */
final class DisniMemoryRegion implements MemoryRegion {

    private final Registrations registrations;
    private final ByteBuffer memory;
    private final long address;
    private final Set<Exposure> exposures = new LinkedHashSet<>();
    private IbvMr local;
    private IbvMr shared;
    private boolean registered = true;

    DisniMemoryRegion(Registrations registrations, ByteBuffer memory, long address) {
        this.registrations = registrations;
        this.memory = memory;
        this.address = address;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public int length() {
        return memory.capacity();
    }

    @Override
    public int localKey() {
        if (local == null) {
            requireRegistered();
            local = registrations.cache().take(address, length());
            if (local == null) {
                local = registrations.register(memory, IbvMr.IBV_ACCESS_LOCAL_WRITE);
            }
        }
        return local.getLkey();
    }

    private void requireRegistered() {
        if (!registered) {
            throw new IllegalStateException(
                    "The region of " + length() + " bytes is not registered any more");
        }
    }

    boolean isOf(Registrations context) {
        return registrations == context;
    }

    /** Registers a range of this region for peers. */
    IbvMr registerRange(long rangeAddress, int bytes, int access) {
        requireRegistered();
        return registrations.register(memory.slice(checked(rangeAddress, bytes), bytes), access);
    }

    /** The registration of the whole region that all peers share, with every right. */
    IbvMr shared() {
        if (shared == null) {
            requireRegistered();
            shared =
                    registrations.register(
                            memory,
                            IbvMr.IBV_ACCESS_LOCAL_WRITE
                                    | IbvMr.IBV_ACCESS_REMOTE_READ
                                    | IbvMr.IBV_ACCESS_REMOTE_WRITE);
        }
        return shared;
    }

    /** The index of a range. */
    int checked(long rangeAddress, int bytes) {
        long index = rangeAddress - address;
        if (bytes < 0 || index < 0 || index > length() - bytes) {
            throw new IllegalArgumentException(
                    String.format(
                            "Range of %d bytes at address %#x is not in the registered region of %d"
                                    + " bytes at %#x",
                            bytes, rangeAddress, length(), address));
        }
        return (int) index;
    }

    void add(Exposure exposure) {
        exposures.add(exposure);
    }

    void remove(Exposure exposure) {
        exposures.remove(exposure);
    }

    @Override
    public void deregister() {
        if (!registered) {
            return;
        }
        while (!exposures.isEmpty()) {
            exposures.iterator().next().end();
        }
        registered = false;
        if (shared != null) {
            registrations.release(shared);
            shared = null;
        }
        if (local != null) {
            registrations.cache().put(address, local, memory);
            local = null;
        }
    }
}
