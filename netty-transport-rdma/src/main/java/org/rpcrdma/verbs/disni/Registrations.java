// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.SVCDeregMr;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/** Registers memory with the protection domain of one context, and counts it. */
final class Registrations {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(Registrations.class);

    private final IbvPd domain;
    private final RegistrationCache cache;
    private final Set<IbvMr> live = Collections.newSetFromMap(new IdentityHashMap<>());
    private long bytes;

    Registrations(IbvPd domain, long cacheLimit) {
        this.domain = domain;
        this.cache = new RegistrationCache(cacheLimit, this);
    }

    /** The bytes that are registered, cached ones included. */
    long bytes() {
        return bytes;
    }

    RegistrationCache cache() {
        return cache;
    }

    /**
     * Registers all bytes of a buffer. When the device has no room, what the cache keeps makes room first.
     *
     * @param access {@code IBV_ACCESS_...}
     * @throws IllegalStateException when the device has no room; the message says what to do
     */
    IbvMr register(ByteBuffer memory, int access) {
        try {
            return tryRegister(memory, access);
        } catch (IOException e) {
            if (cache.isEmpty()) {
                throw RegistrationFailure.of(e, memory.capacity(), bytes);
            }
        }
        cache.clear();
        try {
            return tryRegister(memory, access);
        } catch (IOException e) {
            throw RegistrationFailure.of(e, memory.capacity(), bytes);
        }
    }

    private IbvMr tryRegister(ByteBuffer memory, int access) throws IOException {
        var call = domain.regMr(memory, access);
        try {
            IbvMr region = call.execute().getMr();
            live.add(region);
            bytes += memory.capacity();
            return region;
        } finally {
            call.free();
        }
    }

    /** Ends all registrations. */
    void close() {
        cache.clear();
        for (IbvMr region : List.copyOf(live)) {
            try {
                deregister(region);
            } catch (IllegalStateException e) {
                logger.warn("A registration is left behind: {}", e.getMessage());
            }
        }
    }

    /**
     * Ends a registration, unless {@link #close()} has done so: DiSNI would free it twice.
     *
     * @throws IllegalStateException when the device refuses
     */
    void deregister(IbvMr region) {
        if (!live.remove(region)) {
            return;
        }
        try {
            SVCDeregMr call = region.deregMr();
            call.execute();
            call.free();
        } catch (IOException e) {
            throw new IllegalStateException(
                    "The device does not end a registration of "
                            + region.getLength()
                            + " bytes: "
                            + String.valueOf(e.getMessage()).strip(),
                    e);
        }
        bytes -= region.getLength();
    }
}
