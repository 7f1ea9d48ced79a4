// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.io.IOException;
import org.rpcrdma.verbs.WorkStatus;

/** A work request of this end failed on local memory, which ends its stream. */
public final class LocalAccessException extends IOException {

    private static final long serialVersionUID = 1L;

    private final WorkStatus status;

    LocalAccessException(WorkStatus status, String message) {
        super(message);
        this.status = status;
    }

    /** How the work request completes. */
    public WorkStatus status() {
        return status;
    }
}
