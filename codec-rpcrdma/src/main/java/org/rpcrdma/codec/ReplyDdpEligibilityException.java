// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The responder broke the upper-layer binding (RFC 8166, 6.1): it placed an ineligible result in a Write chunk, or left
 * an eligible result inline in spite of its Write chunk. The error is permanent.
 */
public final class ReplyDdpEligibilityException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    ReplyDdpEligibilityException(String message) {
        super(message);
    }
}
