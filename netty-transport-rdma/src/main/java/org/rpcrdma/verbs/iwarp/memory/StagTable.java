// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayDeque;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.rpcrdma.verbs.QueuePair;

/**
 * The exposed ranges of one context, by STag: an unpredictable index in the high 24 bits and a key in the low 8, 1 to
 * 255, that changes with each reuse of the index (RFC 5040, 3.1 and RFC 5042, 6.3). An index without unused keys is
 * replaced by a new one. Indices are reused in the order in which they were freed.
 */
public final class StagTable {

    private static final int KEY_BITS = 8;
    private static final int KEY_MASK = 0xff;
    private static final int OFFSET_SHIFT = 12;

    /** The least number of free STags before one is reused. */
    private static final int SPARE = 64;

    private final IntObjectHashMap<IwarpExposure> byIndex = new IntObjectHashMap<>();
    private final ArrayDeque<IwarpExposure> free = new ArrayDeque<>();
    private final RandomNumberBuffer indices;

    /**
     * Offsets need no secrecy, they only must not reveal addresses: a fast generator suffices. {@code null} before the
     * first.
     */
    private SplittableRandom offsets;

    private final int maximum;

    /**
     * @param maximum the most ranges exposed at a time
     * @param generators makes a generator of unpredictable numbers, for the first STag
     */
    public StagTable(int maximum, Supplier<Random> generators) {
        this.maximum = maximum;
        indices = new RandomNumberBuffer(generators);
    }

    /**
     * Exposes a range to the peer of one stream.
     *
     * @throws IllegalArgumentException when the range is not in the region or the access is not exactly one right
     * @throws IllegalStateException when all STags are in use
     */
    public IwarpExposure expose(
            ExposureOwner owner, IwarpMemoryRegion region, long address, int length, int access) {
        if (!region.isRegistered() || !region.contains(address, length)) {
            throw new IllegalArgumentException(
                    String.format(
                            "Range of %d bytes at address %#x is not in the registered region of %d"
                                    + " bytes at %#x",
                            length, address, region.length(), region.address()));
        }
        if (access != QueuePair.REMOTE_READ && access != QueuePair.REMOTE_WRITE) {
            throw new IllegalArgumentException(
                    "Access is "
                            + access
                            + ", expected REMOTE_READ or REMOTE_WRITE; expose twice to give both");
        }
        return exposeAt(owner, region, address, length, access, nextOffset());
    }

    /**
     * Exposes a range without memory, for writing, to the peer of one stream.
     *
     * @throws IllegalStateException when all STags are in use
     */
    public IwarpExposure expose(ExposureOwner owner, int length) {
        return exposeAt(owner, null, 0, length, QueuePair.REMOTE_WRITE, nextOffset());
    }

    /** Below 2^63, so that no offset inside can wrap; a multiple of a page, so that the peer may align to it. */
    private long nextOffset() {
        if (offsets == null) {
            offsets = new SplittableRandom(indices.nextLong());
        }
        return offsets.nextLong() >>> 1 >>> OFFSET_SHIFT << OFFSET_SHIFT;
    }

    /**
     * Exposes a checked range with a given offset.
     *
     * @throws IllegalStateException when all STags are in use
     */
    IwarpExposure exposeAt(
            ExposureOwner owner,
            IwarpMemoryRegion region,
            long address,
            int length,
            int access,
            long offset) {
        IwarpExposure exposure = next();
        exposure.set(region, address, length, access, offset, owner);
        link(exposure);
        return exposure;
    }

    /** The exposure of an STag, all 32 bits compared, or {@code null} when it is not valid. */
    public IwarpExposure find(int stag) {
        IwarpExposure exposure = byIndex.get(stag >>> KEY_BITS);
        return exposure != null && exposure.stag == stag && exposure.owner != null
                ? exposure
                : null;
    }

    /** Ends an exposure before it returns. */
    public void invalidate(IwarpExposure exposure) {
        exposure.owner.revoking(exposure);
        unlink(exposure);
        exposure.clear();
        free.addLast(exposure);
    }

    /** Ends all exposures to the peer of one stream. */
    public void invalidateAll(ExposureOwner owner) {
        while (owner.exposures != null) {
            invalidate(owner.exposures);
        }
    }

    private IwarpExposure next() {
        IwarpExposure exposure;
        if (byIndex.size() < Math.min(maximum, SPARE)
                || (free.isEmpty() && byIndex.size() < maximum)) {
            exposure = new IwarpExposure();
            place(exposure);
            return exposure;
        }
        exposure = free.pollFirst();
        if (exposure == null) {
            throw new IllegalStateException(
                    "All "
                            + maximum
                            + " STags are in use; invalidate some or raise"
                            + " IwarpConfig.maxExposures");
        }
        if ((exposure.stag & KEY_MASK) == KEY_MASK) {
            byIndex.remove(exposure.stag >>> KEY_BITS);
            place(exposure);
        } else {
            exposure.stag++;
        }
        return exposure;
    }

    private void place(IwarpExposure exposure) {
        int index;
        do {
            index = indices.nextInt() >>> KEY_BITS;
        } while (index == 0 || byIndex.containsKey(index));
        exposure.stag = (index << KEY_BITS) | 1;
        byIndex.put(index, exposure);
    }

    private static void link(IwarpExposure exposure) {
        if (exposure.region != null) {
            exposure.nextOfRegion = exposure.region.exposures;
            if (exposure.nextOfRegion != null) {
                exposure.nextOfRegion.previousOfRegion = exposure;
            }
            exposure.region.exposures = exposure;
        }
        exposure.nextOfOwner = exposure.owner.exposures;
        if (exposure.nextOfOwner != null) {
            exposure.nextOfOwner.previousOfOwner = exposure;
        }
        exposure.owner.exposures = exposure;
    }

    private static void unlink(IwarpExposure exposure) {
        if (exposure.previousOfRegion != null) {
            exposure.previousOfRegion.nextOfRegion = exposure.nextOfRegion;
        } else if (exposure.region != null) {
            exposure.region.exposures = exposure.nextOfRegion;
        }
        if (exposure.nextOfRegion != null) {
            exposure.nextOfRegion.previousOfRegion = exposure.previousOfRegion;
        }
        if (exposure.previousOfOwner == null) {
            exposure.owner.exposures = exposure.nextOfOwner;
        } else {
            exposure.previousOfOwner.nextOfOwner = exposure.nextOfOwner;
        }
        if (exposure.nextOfOwner != null) {
            exposure.nextOfOwner.previousOfOwner = exposure.previousOfOwner;
        }
        exposure.nextOfRegion = null;
        exposure.previousOfRegion = null;
        exposure.nextOfOwner = null;
        exposure.previousOfOwner = null;
    }
}
