// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;

/** Hears nothing. */
final class Deaf implements ListenerHandler {

    @Override
    public void connectionRequested(ConnectionRequest request) {
        throw new AssertionError("nobody connects");
    }

    @Override
    public void acceptFailed(Throwable cause) {
        throw new AssertionError(cause);
    }
}
