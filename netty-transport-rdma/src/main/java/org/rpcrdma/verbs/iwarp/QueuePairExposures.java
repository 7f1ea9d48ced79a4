// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.function.Consumer;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.memory.StagTable;

/** Memory exposed to the peer of one queue pair. */
final class QueuePairExposures extends ExposureOwner {

    private final StagTable stags;
    private final LocalKeyTable memory;
    private final Consumer<IwarpExposure> onRevoke;
    private boolean closed;

    /** @param onRevoke called before the peer loses access to a range */
    QueuePairExposures(StagTable stags, LocalKeyTable memory, Consumer<IwarpExposure> onRevoke) {
        this.stags = stags;
        this.memory = memory;
        this.onRevoke = onRevoke;
    }

    int expose(MemoryRegion region, long address, int length, int access) {
        if (!(region instanceof IwarpMemoryRegion mine) || !memory.isOwnerOf(mine)) {
            throw new IllegalArgumentException(
                    "The region is not registered with the context of this queue pair");
        }
        requireOpen();
        // An exact key costs nothing here, so there is no reason to share one.
        return stags.expose(this, mine, address, length, access & ~QueuePair.SHARED).stag();
    }

    int expose(int length) {
        requireOpen();
        return stags.expose(this, length).stag();
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("expose was called on a queue pair that is CLOSED");
        }
    }

    long offset(int key) {
        IwarpExposure exposure = find(key);
        if (exposure == null) {
            throw new IllegalArgumentException(
                    String.format(
                            "Key 0x%08x is not valid: it was not exposed here or was invalidated",
                            key));
        }
        return exposure.offset();
    }

    boolean contains(int key) {
        return find(key) != null;
    }

    void invalidate(int key) {
        IwarpExposure exposure = find(key);
        if (exposure != null) {
            stags.invalidate(exposure);
        }
    }

    private IwarpExposure find(int key) {
        IwarpExposure exposure = stags.find(key);
        return exposure != null && exposure.owner() == this ? exposure : null;
    }

    @Override
    protected void revoking(IwarpExposure exposure) {
        onRevoke.accept(exposure);
    }

    /** Invalidates everything, and refuses to expose more. */
    void close() {
        closed = true;
        stags.invalidateAll(this);
    }
}
