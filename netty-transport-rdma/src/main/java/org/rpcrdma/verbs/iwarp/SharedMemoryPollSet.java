// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Set of the shared-memory connections that polling looks at. The others have asked their peers for a wake-up by TCP,
 * as these do before the thread blocks, and as one does that was idle for long while there are many.
 */
final class SharedMemoryPollSet {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SharedMemoryPollSet.class);

    /** So few stay awake however little they bring. */
    private static final int FEW = 8;

    /** Looks in vain, at one for all of them, after which one goes to sleep while there are many. */
    private static final int VAIN_LOOKS = 8192;

    /** So often the rings are looked into before the selector is asked, which costs as much as many looks. */
    private static final int POLLS_PER_SELECT = 32;

    private static final int BELL_BYTES = 64;

    private final ByteBuffer bells = ByteBuffer.allocateDirect(BELL_BYTES);
    private final ByteBuffer bell = ByteBuffer.allocateDirect(1);
    private SharedMemoryByteTransport[] rings = new SharedMemoryByteTransport[4];

    /** How many polling looks into. */
    int count;

    private int polls;

    void add(SharedMemoryByteTransport ring) {
        if (count == rings.length) {
            rings = Arrays.copyOf(rings, 2 * count);
        }
        rings[count++] = ring;
    }

    void remove(SharedMemoryByteTransport ring) {
        for (int i = 0; i < count; i++) {
            if (rings[i] == ring) {
                removeAt(i);
                return;
            }
        }
    }

    private void removeAt(int i) {
        rings[i] = rings[--count];
        rings[count] = null;
    }

    /** Looks into all of them, where there are any; returns whether the selector need not be asked this time. */
    boolean poll() {
        for (int i = count - 1; i >= 0; i--) {
            // One may have closed others.
            if (i < count) {
                look(i);
            }
        }
        if (++polls < POLLS_PER_SELECT) {
            return true;
        }
        polls = 0;
        return false;
    }

    private void look(int i) {
        SharedMemoryByteTransport ring = rings[i];
        try {
            int vain = ring.look();
            if (count > FEW && vain > VAIN_LOOKS / count && ring.trySleep()) {
                removeAt(i);
            }
        } catch (IOException | RuntimeException e) {
            ring.failed(e);
        } catch (Error e) {
            ring.failed(Sockets.ended(e));
        }
    }

    /** Has all peers ring from now on; returns false when there is something to do at once. */
    boolean trySleep() {
        while (count > 0) {
            SharedMemoryByteTransport ring = rings[count - 1];
            try {
                if (!ring.trySleep()) {
                    return false;
                }
                rings[--count] = null;
            } catch (IOException e) {
                ring.failed(e);
                return false;
            }
        }
        return true;
    }

    /** Where doorbells are read into; more are left for the next time. */
    ByteBuffer bells() {
        return bells.clear();
    }

    /** A doorbell. */
    ByteBuffer bell() {
        return bell.clear();
    }

    void trace(Throwable e) {
        LOGGER.trace("Closing shared memory", e);
    }
}
