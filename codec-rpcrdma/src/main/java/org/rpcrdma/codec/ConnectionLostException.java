// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The connection ended, or could not be made, before the reply came, and the client does not send the call again. */
public final class ConnectionLostException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final boolean sent;
    private final boolean retryable;

    ConnectionLostException(String why, boolean sent, boolean retryable, Throwable cause) {
        super(
                why
                        + (sent
                                ? "; the responder may have executed the call"
                                : "; the call was not sent")
                        + (retryable ? " (it may be repeated)" : " (do not repeat it blindly)"),
                cause);
        this.sent = sent;
        this.retryable = retryable;
    }

    /** {@return whether the call may have reached the responder} */
    public boolean isSent() {
        return sent;
    }

    /** {@return whether repeating the call does no harm: it was not sent, or it is idempotent} */
    public boolean isRetryable() {
        return retryable;
    }
}
