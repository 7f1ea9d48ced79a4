// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.io.IOException;

/** The peer sent a Terminate. */
public final class TerminatedException extends IOException {

    private static final long serialVersionUID = 1L;

    private final transient Terminate terminate;

    TerminatedException(Terminate terminate) {
        super(terminate.describe());
        this.terminate = terminate;
    }

    public Terminate terminate() {
        return terminate;
    }
}
