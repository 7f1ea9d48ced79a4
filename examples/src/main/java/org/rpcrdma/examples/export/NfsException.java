// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;

/** A failure that already has its NFSv3 status (RFC 1813, 2.6). */
public final class NfsException extends IOException {

    private static final long serialVersionUID = 1L;

    private final int status;

    /**
     * @param status an {@code NFS3ERR_} value
     * @param message what was asked for and why it cannot be
     */
    public NfsException(int status, String message) {
        super(message);
        this.status = status;
    }

    public int status() {
        return status;
    }
}
