// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** No answer came in time. The responder may have executed the call, unless it was never sent. */
public final class CallTimeoutException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final boolean sent;

    CallTimeoutException(long millis, int transmissions, long badReplies, Throwable lastFailure) {
        super(
                "no answer within "
                        + millis
                        + " ms; the call was sent "
                        + transmissions
                        + " times"
                        + (badReplies == 0
                                ? ""
                                : ", and the connection has dropped "
                                        + badReplies
                                        + " replies with a bad header")
                        + (transmissions > 0 || lastFailure == null
                                ? ""
                                : ", because there was no connection: " + lastFailure.getMessage()),
                lastFailure);
        sent = transmissions > 0;
    }

    /** {@return whether the call was handed to a connection at all} */
    public boolean isSent() {
        return sent;
    }
}
