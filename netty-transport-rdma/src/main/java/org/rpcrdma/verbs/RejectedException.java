// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.ConnectException;

/** The peer was reached and rejected the connection. */
public final class RejectedException extends ConnectException {

    private static final long serialVersionUID = 1L;

    private final byte[] privateData;

    public RejectedException(String message, byte[] privateData) {
        super(message);
        this.privateData = privateData.clone();
    }

    /** What the peer sent with the rejection, empty when it sent nothing. */
    public byte[] privateData() {
        return privateData.clone();
    }
}
