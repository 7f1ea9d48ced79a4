// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import org.rpcrdma.verbs.QueuePair;

/** What is exposed to the peer of one queue pair, by key. */
final class ExposureTable {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(ExposureTable.class);

    private final Registrations registrations;
    private final IntObjectMap<Exposure> byKey = new IntObjectHashMap<>(4);

    ExposureTable(Registrations registrations) {
        this.registrations = registrations;
    }

    int expose(DisniMemoryRegion region, long address, int length, int access) {
        boolean isShared = (access & QueuePair.SHARED) != 0;
        int right = access & ~QueuePair.SHARED;
        if (right != QueuePair.REMOTE_READ && right != QueuePair.REMOTE_WRITE) {
            throw new IllegalArgumentException(
                    "Access is "
                            + access
                            + ", expected REMOTE_READ or REMOTE_WRITE; expose twice to give both");
        }
        region.checked(address, length);
        if (isShared) {
            Exposure existing = byKey.get(region.shared().getRkey());
            if (existing != null) {
                existing.share(address);
                return existing.key();
            }
        }
        IbvMr registration =
                isShared ? region.shared() : region.registerRange(address, length, rights(right));
        Exposure exposure =
                new Exposure(this, region, registrations, registration, isShared, address);
        byKey.put(exposure.key(), exposure);
        region.add(exposure);
        return exposure.key();
    }

    private static int rights(int right) {
        return right == QueuePair.REMOTE_READ
                ? IbvMr.IBV_ACCESS_REMOTE_READ
                : IbvMr.IBV_ACCESS_LOCAL_WRITE | IbvMr.IBV_ACCESS_REMOTE_WRITE;
    }

    long offset(int key) {
        Exposure exposure = byKey.get(key);
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
        Exposure exposure = byKey.get(key);
        if (exposure != null) {
            exposure.release();
        }
    }

    void remove(Exposure exposure) {
        byKey.remove(exposure.key());
    }

    /** Ends the peer's access to everything, when its queue pair is gone. */
    void clear() {
        while (!byKey.isEmpty()) {
            try {
                byKey.values().iterator().next().end();
            } catch (IllegalStateException e) {
                logger.warn("A registration is left behind: {}", e.getMessage());
            }
        }
    }
}
