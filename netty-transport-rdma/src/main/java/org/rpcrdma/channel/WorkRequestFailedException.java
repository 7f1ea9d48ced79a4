// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import org.rpcrdma.verbs.WorkStatus;

/** A work request failed, which also ends the connection. */
public final class WorkRequestFailedException extends IOException {

    private static final long serialVersionUID = 1L;

    private final WorkStatus status;

    WorkRequestFailedException(String operation, WorkStatus status) {
        super(operation + " failed: " + status);
        this.status = status;
    }

    /** {@return the status of the failed work request} */
    public WorkStatus status() {
        return status;
    }
}
