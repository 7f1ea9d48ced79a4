// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.ConnectException;
import java.nio.charset.StandardCharsets;

/** The peer was reached and rejected the connection. */
public final class RejectedException extends ConnectException {

    private static final long serialVersionUID = 1L;

    /** The most characters shown of the peer's reason. */
    private static final int MAX_WORDS = 256;

    private final byte[] privateData;

    /**
     * A connect that the peer has answered with a rejection.
     *
     * @param message for the user; a reason of the peer is added to it
     * @param privateData what the peer sent with it, empty when it sent nothing; copied
     */
    public RejectedException(String message, byte[] privateData) {
        super(message + inWords(privateData));
        this.privateData = privateData.clone();
    }

    /** The peer's reason, if it is a line of ASCII; zeros of the connection manager may follow. */
    private static String inWords(byte[] privateData) {
        int length = privateData.length;
        while (length > 0 && privateData[length - 1] == 0) {
            length--;
        }
        for (int i = 0; i < length; i++) {
            if (privateData[i] < ' ' || privateData[i] > '~') {
                return "";
            }
        }
        return length == 0
                ? ""
                : ": \""
                        + new String(
                                        privateData,
                                        0,
                                        Math.min(length, MAX_WORDS),
                                        StandardCharsets.US_ASCII)
                                .replace('"', '\'') // they end where the quotation ends
                        + '"';
    }

    /** {@return the private data of the rejection, empty if none} */
    public byte[] privateData() {
        return privateData.clone();
    }
}
