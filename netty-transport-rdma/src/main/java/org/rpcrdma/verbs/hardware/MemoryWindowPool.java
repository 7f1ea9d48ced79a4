// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.util.ArrayDeque;

/** The memory windows of a context that are not bound: at most as many as were bound at a time. */
final class MemoryWindowPool {

    private final NativeEventLoopDevice device;
    private final ArrayDeque<WindowExposure> unbound = new ArrayDeque<>();
    private int inUse;

    MemoryWindowPool(NativeEventLoopDevice device) {
        this.device = device;
    }

    /**
     * Takes one.
     *
     * @throws IllegalStateException when the device has no more
     */
    WindowExposure take() {
        WindowExposure taken = unbound.poll();
        if (taken == null) {
            try {
                taken = new WindowExposure(this, device.newWindow());
            } catch (IOException e) {
                throw new IllegalStateException(
                        device
                                + " gives no memory window, with "
                                + inUse
                                + " in use here: "
                                + NativeErrorMessages.reason(e),
                        e);
            }
        }
        inUse++;
        return taken;
    }

    /** Returns an unbound window. */
    void give(WindowExposure window) {
        inUse--;
        unbound.add(window);
    }

    /**
     * Ends one, and the peer's access with it, before it returns.
     *
     * @throws IllegalStateException when the device refuses
     */
    void free(WindowExposure window) {
        inUse--;
        try {
            window.window().free();
        } catch (IOException e) {
            throw new IllegalStateException(
                    "The device does not end a memory window: " + NativeErrorMessages.reason(e), e);
        }
    }

    /** Ends those that are not bound. */
    void close() {
        for (WindowExposure window = unbound.poll(); window != null; window = unbound.poll()) {
            inUse++;
            free(window);
        }
    }
}
