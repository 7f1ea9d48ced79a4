// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import java.io.IOException;

/**
 * The peer of a byte stream broke the rules of the rsocket protocol. The message gives the received and the expected
 * value.
 */
public final class StreamProtocolException extends IOException {

    private static final long serialVersionUID = 1L;

    public StreamProtocolException(String message) {
        super(message);
    }
}
