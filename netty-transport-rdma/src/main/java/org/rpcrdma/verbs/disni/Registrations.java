// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCRegMr;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Registers memory with the protection domain of one context, and counts it. */
final class Registrations {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(Registrations.class);

    private final IbvPd domain;
    private final RegistrationCache cache;
    private final IntObjectMap<IbvMr> byLocalKey = new IntObjectHashMap<>();
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
        return execute(() -> domain.regMr(memory, access), memory.capacity());
    }

    /** As {@link #register(ByteBuffer, int)}, for a range of memory that the caller keeps in place. */
    IbvMr register(long address, int length, int access) {
        return execute(() -> domain.regMr(address, length, access), length);
    }

    private interface Call {
        SVCRegMr make() throws IOException;
    }

    private IbvMr execute(Call call, int length) {
        try {
            return tryRegister(call, length);
        } catch (IOException e) {
            if (cache.isEmpty()) {
                throw RegistrationFailure.of(e, length, bytes);
            }
        }
        cache.clear();
        try {
            return tryRegister(call, length);
        } catch (IOException e) {
            throw RegistrationFailure.of(e, length, bytes);
        }
    }

    private IbvMr tryRegister(Call call, int length) throws IOException {
        SVCRegMr made = call.make();
        try {
            IbvMr region = made.execute().getMr();
            byLocalKey.put(region.getLkey(), region);
            bytes += length;
            return region;
        } finally {
            made.free();
        }
    }

    /** Whether a range is in what was registered under a local key. */
    boolean covers(int localKey, long address, int length) {
        IbvMr region = byLocalKey.get(localKey);
        return region != null
                && address >= region.getAddr()
                && address - region.getAddr() <= (long) region.getLength() - length;
    }

    /** Ends all registrations. */
    void close() {
        cache.clear();
        List.copyOf(byLocalKey.values()).forEach(this::release);
    }

    /** As {@link #deregister} for what no peer reaches any more: what the device refuses, as one that is gone, is left behind. */
    void release(IbvMr region) {
        try {
            deregister(region);
        } catch (IllegalStateException e) {
            logger.warn("A registration is left behind: {}", e.getMessage());
        }
    }

    /**
     * Ends a registration, unless {@link #close()} has done so: DiSNI would free it twice.
     *
     * @throws IllegalStateException when the device refuses
     */
    void deregister(IbvMr region) {
        if (!byLocalKey.remove(region.getLkey(), region)) {
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
                            + NativeError.reason(e),
                    e);
        }
        bytes -= region.getLength();
    }
}
