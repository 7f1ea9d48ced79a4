// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * An upper-layer binding has thrown an unexpected exception. Only the call it was asked about fails: with a {@link
 * MarshalException} when nothing was sent, with a {@link LocalReplyDecodeException} when the reply has come, and with
 * SYSTEM_ERR at a responder.
 */
final class FaultyUpperLayerBindingException extends Exception {

    private static final long serialVersionUID = 1L;

    /**
     * @param method class and method of the binding
     */
    FaultyUpperLayerBindingException(String method, Throwable thrown) {
        super(
                "the upper-layer binding has thrown "
                        + thrown
                        + " in "
                        + method
                        + " (expected: MalformedMessageException at most)",
                thrown);
    }
}
