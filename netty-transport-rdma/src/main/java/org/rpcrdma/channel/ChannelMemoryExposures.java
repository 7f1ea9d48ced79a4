// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.RemoteKeyMap;

/** Memory that the peer of one queue pair may access. */
final class ChannelMemoryExposures {

    private final QueuePair queuePair;
    private final ZeroCopyRegistrar memory;
    private final boolean exactExposure;

    /** Registrations made for one exposure, by handle. */
    private final RemoteKeyMap<MemoryRegion> registrations = new RemoteKeyMap<>();

    /** @param exactExposure whether the device can expose exactly a part of a registration */
    ChannelMemoryExposures(QueuePair queuePair, ZeroCopyRegistrar memory, boolean exactExposure) {
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
        if (access == RemoteAccess.WRITE) {
            ZeroCopyRegistrar.checkWritable(buffer);
        }
        boolean isPooled = registrationPolicy == RegistrationPolicy.POOLED;
        int right = access == RemoteAccess.READ ? QueuePair.REMOTE_READ : QueuePair.REMOTE_WRITE;
        return expose(buffer, index, length, isPooled ? right | QueuePair.SHARED : right);
    }

    /** Exposes all of a buffer of the pool for writing, under a handle of its own. */
    int exposeForWrite(RegisteredByteBuf buffer) {
        return expose(buffer, 0, buffer.capacity(), QueuePair.REMOTE_WRITE);
    }

    /** Exposes a range whose memory is allocated when the peer writes, see {@link QueuePair#expose(int)}. */
    int expose(int length) {
        return queuePair.expose(length);
    }

    private int expose(ByteBuf buffer, int index, int length, int rights) {
        boolean isPooled = (rights & QueuePair.SHARED) != 0;
        MemoryRegion region =
                isPooled || exactExposure ? memory.pooled(buffer, index, length) : null;
        if (region != null) {
            return queuePair.expose(
                    region, ZeroCopyRegistrar.address(buffer) + index, length, rights);
        }
        region = memory.register(buffer, index, length);
        try {
            int handle =
                    queuePair.expose(region, region.address(), length, rights & ~QueuePair.SHARED);
            registrations.put(handle, region);
            return handle;
        } catch (Throwable t) {
            region.deregister();
            throw t;
        }
    }

    /** The offset of a valid handle. */
    long offset(int handle) {
        return queuePair.exposedOffset(handle);
    }

    boolean isExposed(int handle) {
        return queuePair.isExposed(handle);
    }

    /**
     * Ends the peer's access before this method returns, unless it has already ended.
     *
     * @throws RuntimeException when the device fails: then only the end of the queue pair ends the access
     */
    void invalidate(int handle) {
        queuePair.invalidate(handle);
        MemoryRegion registration = registrations.remove(handle);
        if (registration != null) {
            registration.deregister();
        }
    }

    /** Releases all registrations, after the queue pair was destroyed. */
    void clear() {
        registrations.values().forEach(MemoryRegion::deregister);
        registrations.clear();
    }
}
