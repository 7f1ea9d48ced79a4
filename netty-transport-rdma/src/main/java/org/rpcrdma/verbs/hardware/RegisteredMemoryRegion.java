// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Memory of one context. The device knows it as up to two registrations, each made when it is first needed: one for
 * local use, and one that all peers of the context share, if memory is exposed that way.
 */
final class RegisteredMemoryRegion implements MemoryRegion, HardwareExposure.Registry {

    private final MemoryRegistrar registrations;
    private final ByteBuffer memory;
    private final long address;

    /** Each registration stores its index here. */
    private final List<HardwareExposure> exposures = new ArrayList<>(0);

    private NativeRegion local;
    private NativeRegion shared;
    private boolean registered = true;

    RegisteredMemoryRegion(MemoryRegistrar registrations, ByteBuffer memory, long address) {
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
        return local().localKey();
    }

    /** The registration of the whole region for local use, to which windows are bound. */
    NativeRegion local() {
        if (local == null) {
            requireRegistered();
            local = registrations.cache().take(address, length());
            if (local == null) {
                local = registrations.registerLocal(memory);
            }
        }
        return local;
    }

    private void requireRegistered() {
        if (!registered) {
            throw new IllegalStateException(
                    "The region of " + length() + " bytes is not registered any more");
        }
    }

    boolean isOf(MemoryRegistrar context) {
        return registrations == context;
    }

    /** Registers a range of this region for peers. */
    NativeRegion registerRange(long rangeAddress, int bytes, int access) {
        requireRegistered();
        return registrations.register(memory.slice(checked(rangeAddress, bytes), bytes), access);
    }

    /** The registration of the whole region that all peers share, with every right. */
    NativeRegion shared() {
        if (shared == null) {
            requireRegistered();
            shared =
                    registrations.register(
                            memory,
                            VerbsConstants.LOCAL_WRITE
                                    | VerbsConstants.REMOTE_READ
                                    | VerbsConstants.REMOTE_WRITE);
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

    @Override
    public void add(HardwareExposure exposure) {
        exposure.place = exposures.size();
        exposures.add(exposure);
    }

    @Override
    public void remove(HardwareExposure exposure) {
        HardwareExposure last = exposures.remove(exposures.size() - 1);
        if (last != exposure) {
            last.place = exposure.place;
            exposures.set(last.place, last);
        }
    }

    @Override
    public void deregister() {
        end(region -> registrations.cache().put(address, region, memory));
    }

    @Override
    public void forget() {
        end(registrations::release);
    }

    /** A device keeps a registration while a window is bound to it: end all exposures first. */
    private void end(Consumer<NativeRegion> localEnd) {
        if (!registered) {
            return;
        }
        while (!exposures.isEmpty()) {
            exposures.get(exposures.size() - 1).end();
        }
        registered = false;
        if (shared != null) {
            registrations.release(shared);
            shared = null;
        }
        if (local != null) {
            localEnd.accept(local);
            local = null;
        }
    }
}
