// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;

/** Shared memory has become inaccessible: its file was truncated, or a page of it was lost. */
public final class LostMemoryException extends IOException {

    private static final long serialVersionUID = 1;

    /** @param fault the JVM's word for it, may be {@code null} */
    LostMemoryException(InternalError fault) {
        super(
                "Shared memory cannot be reached: its file was cut short or has no page there",
                fault);
    }
}
