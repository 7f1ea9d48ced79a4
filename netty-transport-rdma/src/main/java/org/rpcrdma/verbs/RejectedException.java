// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.ConnectException;

/** The peer was reached and rejected the connection. */
public final class RejectedException extends ConnectException {

    private static final long serialVersionUID = 1L;

    private final byte[] privateData;

    /**
     * A connect that the peer has answered with a rejection.
     *
     * @param message for the user
     * @param privateData what the peer sent with it, empty when it sent nothing; copied
     */
    public RejectedException(String message, byte[] privateData) {
        super(message);
        this.privateData = privateData.clone();
    }

    /** {@return what the peer sent with the rejection, empty when it sent nothing} */
    public byte[] privateData() {
        return privateData.clone();
    }
}
