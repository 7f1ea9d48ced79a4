// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Registers memory with the device of one context, and counts it. */
final class MemoryRegistrar {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(MemoryRegistrar.class);

    private final NativeEventLoopDevice device;
    private final RegistrationCache cache;

    /** Not one of Netty's, which loses its entries where it cannot grow for lack of memory. */
    private final Map<Integer, NativeRegion> byLocalKey;

    private final int local;
    private long bytes;

    MemoryRegistrar(NativeEventLoopDevice device, long cacheLimit) {
        this(device, cacheLimit, new HashMap<>());
    }

    MemoryRegistrar(
            NativeEventLoopDevice device, long cacheLimit, Map<Integer, NativeRegion> byLocalKey) {
        this.device = device;
        this.byLocalKey = byLocalKey;
        local =
                device.capabilities().remoteInvalidation()
                        ? VerbsConstants.LOCAL_WRITE | VerbsConstants.WINDOWS
                        : VerbsConstants.LOCAL_WRITE;
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
     * Registers all bytes of a buffer. If the device has no resources left, evicts cached registrations first.
     *
     * @param access {@code IBV_ACCESS_...}
     * @throws IllegalStateException when the device has no resources left; the message says what to do
     */
    NativeRegion register(ByteBuffer memory, int access) {
        return execute(() -> device.register(memory, access), memory.capacity());
    }

    /** For local use, and for windows where there are any. */
    NativeRegion registerLocal(ByteBuffer memory) {
        return register(memory, local);
    }

    /** As {@link #register(ByteBuffer, int)}, for a range of memory that the caller keeps in place. */
    NativeRegion register(long address, int length, int access) {
        return execute(() -> device.register(address, length, access), length);
    }

    private interface Call {
        NativeRegion make() throws IOException;
    }

    private NativeRegion execute(Call call, int length) {
        try {
            return tryRegister(call, length);
        } catch (IOException e) {
            if (cache.isEmpty()) {
                throw RegistrationFailureMessages.of(e, length, bytes);
            }
        }
        cache.clear();
        try {
            return tryRegister(call, length);
        } catch (IOException e) {
            throw RegistrationFailureMessages.of(e, length, bytes);
        }
    }

    private NativeRegion tryRegister(Call call, int length) throws IOException {
        NativeRegion region = call.make();
        try {
            byLocalKey.put(region.tableKey(), region);
        } catch (Throwable t) {
            undo(region);
            throw t;
        }
        bytes += length;
        return region;
    }

    /** Nobody else knows it, and its memory is about to be freed. Needs no memory. */
    private void undo(NativeRegion region) {
        try {
            region.deregister();
        } catch (IOException e) {
            logger.warn("A registration is left behind: {}", NativeErrorMessages.reason(e));
        } finally {
            byLocalKey.remove(region.tableKey(), region);
        }
    }

    /** Whether a range is in the registration of a local key. */
    boolean covers(int localKey, long address, int length) {
        NativeRegion region = byLocalKey.get(localKey);
        return region != null
                && address >= region.address()
                && address - region.address() <= (long) region.length() - length;
    }

    /** Ends all registrations. */
    void close() {
        cache.clear();
        List.copyOf(byLocalKey.values()).forEach(this::release);
    }

    /**
     * As {@link #deregister} for what no peer reaches any more: what the device refuses, as one that is gone, is
     * left behind.
     */
    void release(NativeRegion region) {
        try {
            deregister(region);
        } catch (IllegalStateException e) {
            logger.warn("A registration is left behind: {}", e.getMessage());
        }
    }

    /**
     * Ends a registration, unless {@link #close()} has done so.
     *
     * @throws IllegalStateException when the device refuses
     */
    void deregister(NativeRegion region) {
        if (!byLocalKey.remove(region.tableKey(), region)) {
            return;
        }
        try {
            region.deregister();
        } catch (IOException e) {
            throw new IllegalStateException(
                    "The device does not end a registration of "
                            + region.length()
                            + " bytes: "
                            + NativeErrorMessages.reason(e),
                    e);
        }
        bytes -= region.length();
    }
}
