// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The responder broke the upper-layer binding (RFC 8166, 6.1): it placed a result that is not eligible, or left an
 * eligible one inline although a Write chunk was there. The error is permanent.
 */
public final class EligibilityException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    EligibilityException(String message) {
        super(message);
    }
}
