// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;

/** A registration of memory. */
public abstract class NativeRegion {

    private final long address;
    private final int length;
    private final int localKey;
    private final int remoteKey;

    /** The local key as an object, made beforehand: a registration ends where there is no memory, too. */
    private final Integer tableKey;

    private boolean isRegistered = true;

    /**
     * @param length in bytes
     * @param localKey for work requests of this side
     * @param remoteKey for the peer, if the registration grants remote access
     */
    protected NativeRegion(long address, int length, int localKey, int remoteKey) {
        this.address = address;
        this.length = length;
        this.localKey = localKey;
        this.remoteKey = remoteKey;
        this.tableKey = localKey;
    }

    final long address() {
        return address;
    }

    final int length() {
        return length;
    }

    final int localKey() {
        return localKey;
    }

    /** The local key, as a table of registrations has it. */
    final Integer tableKey() {
        return tableKey;
    }

    final int remoteKey() {
        return remoteKey;
    }

    /** The {@code ibv_mr}, for work requests that bind a window to it. Only where there are windows. */
    protected long pointer() {
        throw new UnsupportedOperationException("the library has no memory windows");
    }

    /** Ends the registration. Idempotent. */
    final void deregister() throws IOException {
        if (isRegistered) {
            isRegistered = false;
            end();
        }
    }

    /** Ends it in the library. Called once. */
    protected abstract void end() throws IOException;
}
