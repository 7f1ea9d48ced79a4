// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * An upper-layer binding has thrown something that it must not throw. The one call that it was asked for fails: with a
 * {@link MarshalException} when nothing was sent, with an {@link UnmarshalException} when the reply has come, and with
 * SYSTEM_ERR at a responder.
 */
final class BindingException extends Exception {

    private static final long serialVersionUID = 1L;

    /**
     * @param method of which binding
     */
    BindingException(String method, Throwable thrown) {
        super(
                "the upper-layer binding has thrown "
                        + thrown
                        + " in "
                        + method
                        + " (expected: MalformedXdrException at most)",
                thrown);
    }
}
