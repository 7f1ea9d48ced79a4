// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;

/** The peer broke a rule of its stream, or the stream cannot go on for a local reason. The stream ends. */
public final class StreamException extends IOException {

    private static final long serialVersionUID = 1L;

    private final transient StreamError error;

    /**
     * @param error for the Terminate message to the peer
     * @param message the received and the expected value, one sentence
     */
    public StreamException(StreamError error, String message) {
        super(message);
        this.error = error;
    }

    public StreamError error() {
        return error;
    }
}
