// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.List;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.RemoteKeyMap;

/** Memory exposed to the peer of one queue pair, by key. */
final class QueuePairMemoryExposer implements HardwareExposure.Registry {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(QueuePairMemoryExposer.class);

    private final MemoryRegistrar registrations;
    private final MemoryWindowPool windows;
    private final WindowBinder binder;
    private final RemoteKeyMap<HardwareExposure> byKey = new RemoteKeyMap<>();

    /**
     * @param windows {@code null} where there are none
     * @param binder binds them
     */
    QueuePairMemoryExposer(
            MemoryRegistrar registrations, MemoryWindowPool windows, WindowBinder binder) {
        this.registrations = registrations;
        this.windows = windows;
        this.binder = binder;
    }

    int expose(RegisteredMemoryRegion region, long address, int length, int access) {
        boolean isShared = (access & QueuePair.SHARED) != 0;
        int right = access & ~QueuePair.SHARED;
        if (right != QueuePair.REMOTE_READ && right != QueuePair.REMOTE_WRITE) {
            throw new IllegalArgumentException(
                    "Access is "
                            + access
                            + ", expected REMOTE_READ or REMOTE_WRITE; expose twice to give both");
        }
        region.checked(address, length);
        if (windows != null && length > 0 && binder.canBind()) {
            // A separate key needs no registration, and the peer may invalidate it.
            return bind(region, address, length, right);
        }
        if (isShared) {
            HardwareExposure existing = byKey.get(region.shared().remoteKey());
            if (existing != null) {
                existing.share(address);
                return existing.key();
            }
        }
        NativeRegion registration =
                isShared ? region.shared() : region.registerRange(address, length, rights(right));
        new RegisteredExposure(registrations, registration, isShared).begin(this, region, address);
        return registration.remoteKey();
    }

    private int bind(RegisteredMemoryRegion region, long address, int length, int right) {
        NativeRegion registration = region.local();
        WindowExposure exposure = windows.take();
        try {
            exposure.bind(
                    binder,
                    registration,
                    address,
                    length,
                    right == QueuePair.REMOTE_READ
                            ? VerbsConstants.REMOTE_READ
                            : VerbsConstants.REMOTE_WRITE);
        } catch (RuntimeException e) {
            windows.give(exposure);
            throw e;
        }
        exposure.begin(this, region, address);
        return exposure.key();
    }

    private static int rights(int right) {
        return right == QueuePair.REMOTE_READ
                ? VerbsConstants.REMOTE_READ
                : VerbsConstants.LOCAL_WRITE | VerbsConstants.REMOTE_WRITE;
    }

    long offset(int key) {
        HardwareExposure exposure = byKey.get(key);
        if (exposure == null) {
            throw new IllegalArgumentException(
                    String.format(
                            "Key 0x%08x is not valid: it was not exposed here or was invalidated",
                            key));
        }
        return exposure.offset();
    }

    boolean contains(int key) {
        return byKey.containsKey(key);
    }

    void invalidate(int key) {
        HardwareExposure exposure = byKey.get(key);
        if (exposure != null) {
            exposure.release();
        }
    }

    /** The peer has invalidated a key by a Send with Invalidate. */
    void invalidated(int key) {
        if (byKey.get(key) instanceof WindowExposure exposure) {
            exposure.invalidated();
        }
    }

    @Override
    public void add(HardwareExposure exposure) {
        byKey.put(exposure.key(), exposure);
    }

    @Override
    public void remove(HardwareExposure exposure) {
        byKey.remove(exposure.key());
    }

    /** Ends the peer's access by windows, before the queue pair that they are bound to is destroyed. */
    void clearWindows() {
        if (windows != null) {
            for (HardwareExposure exposure : List.copyOf(byKey.values())) {
                if (exposure instanceof WindowExposure) {
                    end(exposure);
                }
            }
        }
    }

    /** Ends all access of the peer, after the queue pair was destroyed. */
    void clear() {
        while (!byKey.isEmpty()) {
            end(byKey.values().iterator().next());
        }
    }

    private static void end(HardwareExposure exposure) {
        try {
            exposure.end();
        } catch (IllegalStateException e) {
            logger.warn("Memory is left behind: {}", e.getMessage());
        }
    }
}
