// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Exposure by the key of a memory window, which is reused. */
final class WindowExposure extends HardwareExposure {

    private final MemoryWindowPool windows;
    private final NativeWindow window;
    private WindowBinder binder;

    WindowExposure(MemoryWindowPool windows, NativeWindow window) {
        this.windows = windows;
        this.window = window;
    }

    NativeWindow window() {
        return window;
    }

    void bind(WindowBinder by, NativeRegion registration, long address, int length, int access) {
        binder = by;
        by.bind(window, registration, address, length, access);
    }

    @Override
    int key() {
        return window.key();
    }

    @Override
    void revoke() {
        if (binder.tryUnbind(window)) {
            windows.give(this);
        } else {
            windows.free(this);
        }
    }

    /** The peer has ended its access itself. */
    void invalidated() {
        forget();
        windows.give(this);
    }
}
