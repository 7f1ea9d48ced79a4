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
                        + " ms; the call was "
                        + (transmissions == 0
                                ? notSentBecause(lastFailure)
                                : "sent "
                                        + transmissions
                                        + (transmissions == 1 ? " time" : " times"))
                        + (badReplies == 0
                                ? ""
                                : ", and the connection has dropped "
                                        + badReplies
                                        + " replies with a bad header"),
                lastFailure);
        sent = transmissions > 0;
    }

    private static String notSentBecause(Throwable lastFailure) {
        return lastFailure == null
                ? "not sent, it waited for a connection, a credit or memory"
                : "not sent, because there was no connection: " + lastFailure.getMessage();
    }

    /**
     * {@return whether the call may have reached the responder; if not, it waited for a connection, for a credit or for
     * memory all the time}
     */
    public boolean isSent() {
        return sent;
    }
}
