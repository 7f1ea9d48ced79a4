// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import org.rpcrdma.verbs.WorkStatus;

/** A work request failed. The connection does not outlive it. */
public final class RdmaException extends IOException {

    private static final long serialVersionUID = 1L;

    private final WorkStatus status;

    RdmaException(String operation, WorkStatus status) {
        super(operation + " failed: " + status);
        this.status = status;
    }

    /** {@return how it failed} */
    public WorkStatus status() {
        return status;
    }
}
