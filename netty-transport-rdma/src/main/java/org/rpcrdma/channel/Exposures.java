// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/** What the peer of one queue pair may reach. */
final class Exposures {

    private final QueuePair queuePair;
    private final MessageMemory memory;
    private final boolean exactExposure;

    /** Registrations made for one exposure, by handle. */
    private final IntObjectMap<MemoryRegion> registrations = new IntObjectHashMap<>(4);

    /** @param exactExposure whether the device exposes a part of a registration and no more */
    Exposures(QueuePair queuePair, MessageMemory memory, boolean exactExposure) {
        this.queuePair = queuePair;
        this.memory = memory;
        this.exactExposure = exactExposure;
    }

    /** Exposes a range; returns its handle. */
    int expose(
            ByteBuf buffer,
            int index,
            int length,
            RemoteAccess access,
            RegistrationPolicy registrationPolicy) {
        boolean isPooled = registrationPolicy == RegistrationPolicy.POOLED;
        int right = access == RemoteAccess.READ ? QueuePair.REMOTE_READ : QueuePair.REMOTE_WRITE;
        return expose(buffer, index, length, isPooled ? right | QueuePair.SHARED : right);
    }

    /**
     * Exposes the first bytes of a buffer for writing, under a handle of its own. Nobody is to see what they are now:
     * the device says what the peer has {@linkplain #written written}, or else they are cleared.
     */
    int exposeBlank(ByteBuf buffer, int length) {
        int handle = expose(buffer, 0, length, QueuePair.REMOTE_WRITE | QueuePair.BLANK);
        if (queuePair.written(handle) < 0) {
            buffer.setZero(0, length);
        }
        return handle;
    }

    private int expose(ByteBuf buffer, int index, int length, int rights) {
        boolean isPooled = (rights & QueuePair.SHARED) != 0;
        MemoryRegion region =
                isPooled || exactExposure ? memory.pooled(buffer, index, length) : null;
        if (region != null) {
            return queuePair.expose(region, buffer.memoryAddress() + index, length, rights);
        }
        region = memory.register(buffer, index, length);
        try {
            int handle =
                    queuePair.expose(region, region.address(), length, rights & ~QueuePair.SHARED);
            registrations.put(handle, region);
            return handle;
        } catch (RuntimeException e) {
            region.deregister();
            throw e;
        }
    }

    /** The offset that goes with a valid handle. */
    long offset(int handle) {
        return queuePair.exposedOffset(handle);
    }

    /** The first bytes of a blank range that nobody else has written, of so many. */
    int written(int handle, int most) {
        int written = queuePair.written(handle);
        return written < 0 ? most : Math.min(written, most);
    }

    boolean isExposed(int handle) {
        return queuePair.isExposed(handle);
    }

    /**
     * Ends the peer's access before it returns, unless it has ended already.
     *
     * @throws RuntimeException when the device cannot do it: then only the end of the queue pair does
     */
    void invalidate(int handle) {
        queuePair.invalidate(handle);
        MemoryRegion registration = registrations.remove(handle);
        if (registration != null) {
            registration.deregister();
        }
    }

    /** Ends all registrations, when the queue pair is gone. */
    void clear() {
        registrations.values().forEach(MemoryRegion::deregister);
        registrations.clear();
    }
}
