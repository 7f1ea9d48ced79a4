// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.memory;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Consumer;

/** The registered regions of one context, by local key: a slot in the high 24 bits, a generation in the low 8. */
public final class LocalKeyTable {

    private static final int MAX_REGIONS = 1 << 20;

    private final StagTable stags;
    private final Runnable detach;
    private final Consumer<IwarpMemoryRegion> deregister = this::deregister;
    private IwarpMemoryRegion[] regions = new IwarpMemoryRegion[16];
    private byte[] generations = new byte[16];
    private int[] free = new int[16];
    private int freeCount;
    private int used;

    /**
     * @param stags invalidated before a region ends
     * @param detach makes every connection release its views
     */
    public LocalKeyTable(StagTable stags, Runnable detach) {
        this.stags = stags;
        this.detach = detach;
    }

    /**
     * Registers memory.
     *
     * @throws IllegalArgumentException when it is not direct, or read-only
     * @throws IllegalStateException when there are too many regions
     */
    public IwarpMemoryRegion register(ByteBuffer memory, long address) {
        if (!memory.isDirect() || memory.isReadOnly()) {
            throw new IllegalArgumentException(
                    "Only direct, writable memory can be registered, this is "
                            + memory
                            + "; use a direct buffer");
        }
        int slot = freeSlot();
        int key = ((slot + 1) << 8) | (generations[slot] & 0xff);
        IwarpMemoryRegion region = new IwarpMemoryRegion(this, deregister, memory, address, key);
        // Taken only now: a slot whose region could not be made would be lost.
        if (freeCount > 0) {
            freeCount--;
        } else {
            used++;
        }
        regions[slot] = region;
        return region;
    }

    private int freeSlot() {
        if (freeCount > 0) {
            return free[freeCount - 1];
        }
        if (used == regions.length) {
            if (used == MAX_REGIONS) {
                throw new IllegalStateException(
                        "No more than "
                                + MAX_REGIONS
                                + " regions can be registered; register fewer and larger ones");
            }
            grow();
        }
        return used;
    }

    /** Makes all arrays before it takes one: they are of one length even where memory ends in between. */
    private void grow() {
        IwarpMemoryRegion[] moreRegions = Arrays.copyOf(regions, 2 * used);
        byte[] moreGenerations = Arrays.copyOf(generations, 2 * used);
        int[] moreFree = Arrays.copyOf(free, 2 * used);
        regions = moreRegions;
        generations = moreGenerations;
        free = moreFree;
    }

    /** The region of a local key if it contains the range, otherwise {@code null}. */
    public IwarpMemoryRegion find(int localKey, long address, int length) {
        int slot = (localKey >>> 8) - 1;
        if (slot < 0 || slot >= regions.length) {
            return null;
        }
        IwarpMemoryRegion region = regions[slot];
        return region != null && region.localKey() == localKey && region.contains(address, length)
                ? region
                : null;
    }

    /** Whether a region was registered here. */
    public boolean isOwnerOf(IwarpMemoryRegion region) {
        return region.isOf(this);
    }

    private void deregister(IwarpMemoryRegion region) {
        while (region.exposures != null) {
            stags.invalidate(region.exposures);
        }
        if (region.isLent()) {
            detach.run();
        }
        int slot = (region.localKey() >>> 8) - 1;
        regions[slot] = null;
        generations[slot]++;
        free[freeCount++] = slot;
    }
}
