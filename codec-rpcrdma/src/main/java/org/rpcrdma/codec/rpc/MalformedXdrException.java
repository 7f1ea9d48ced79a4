// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import java.io.IOException;

/**
 * Data of a peer are not the XDR (RFC 4506) that they should be: truncated, longer than allowed, or with an undefined
 * value. The text gives the found and the expected value.
 */
public class MalformedXdrException extends IOException {

    private static final long serialVersionUID = 1L;

    /**
     * An exception of a decoder.
     *
     * @param message what was found and what was expected, in one sentence
     */
    public MalformedXdrException(String message) {
        super(message);
    }
}
