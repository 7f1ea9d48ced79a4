// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.hardware.VerbsConstants;

/** All memory windows of the device. What binds and unbinds is done by the thread of the device. */
final class SoftwareWindows {

    private static final int KEY_BITS = 8;

    private final SoftwareKernel kernel;
    private final AtomicInteger made = new AtomicInteger();
    private final Map<Integer, SoftwareWindow> boundByKey = new HashMap<>();
    private final Map<Integer, SoftwareWindow> boundByStag = new HashMap<>();

    SoftwareWindows(SoftwareKernel kernel) {
        this.kernel = kernel;
    }

    SoftwareWindow make(SoftwareLibrary.Pd domain) {
        SoftwareWindow window = new SoftwareWindow(domain, made.incrementAndGet() << KEY_BITS | 1);
        return kernel.made(window.pointer, window);
    }

    /**
     * Binds a window.
     *
     * @param key the key to come; the one before is in the structure
     * @return whether the device has done it
     */
    boolean bind(
            SoftwareWindow window,
            int key,
            int before,
            SoftwareQp qp,
            SoftwareLibrary.Mr region,
            long address,
            int length,
            int access) {
        String wrong = null;
        if (window.qp != null) {
            wrong = "it is bound already";
        } else if (before != window.key || key >>> KEY_BITS != before >>> KEY_BITS) {
            wrong = "key " + Integer.toHexString(key) + " after " + Integer.toHexString(before);
        } else if (key == before) {
            wrong = "the key is that of before";
        } else if ((region.access() & VerbsConstants.WINDOWS) == 0
                || region.domain() != window.domain) {
            wrong = "the region is not for it";
        } else if (length <= 0) {
            wrong = length + " bytes";
        }
        if (wrong != null) {
            kernel.problem("A memory window cannot be bound: " + wrong);
            return false;
        }
        int right =
                access == VerbsConstants.REMOTE_READ
                        ? QueuePair.REMOTE_READ
                        : QueuePair.REMOTE_WRITE;
        window.stag =
                kernel.rnic.rnic().expose(qp.queuePair, region.region(), address, length, right);
        window.key = key;
        window.qp = qp;
        window.region = region;
        region.windows().incrementAndGet();
        boundByKey.put(key, window);
        boundByStag.put(window.stag, window);
        return true;
    }

    /** Invalidates a key of a queue pair; whether there was one. */
    boolean invalidate(SoftwareQp qp, int key) {
        SoftwareWindow window = boundByKey.get(key);
        if (window == null || window.qp != qp) {
            return false;
        }
        end(window);
        return true;
    }

    /** Ends the access by a window, if it is bound. */
    void end(SoftwareWindow window) {
        if (window.qp != null) {
            window.qp.queuePair.invalidate(window.stag);
            unbind(window);
        }
    }

    private void unbind(SoftwareWindow window) {
        boundByKey.remove(window.key);
        boundByStag.remove(window.stag);
        window.region.windows().decrementAndGet();
        window.qp = null;
        window.region = null;
    }

    /** A peer has invalidated what the software RNIC calls so; returns the key of the window. */
    int invalidated(int stag) {
        SoftwareWindow window = boundByStag.get(stag);
        if (window == null) {
            return stag;
        }
        unbind(window);
        return window.key;
    }

    /** What the software RNIC calls a key that a peer names. */
    int stag(int key) {
        SoftwareWindow window = boundByKey.get(key);
        return window == null ? key : window.stag;
    }

    boolean isBoundTo(SoftwareQp qp) {
        return kernel.all(SoftwareWindow.class).stream().anyMatch(window -> window.qp == qp);
    }
}
