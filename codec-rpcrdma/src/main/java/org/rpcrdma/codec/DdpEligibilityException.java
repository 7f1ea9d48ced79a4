// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * An item is in a chunk, or is not, against the upper-layer binding (RFC 8166, 6.1). In a reply received, the responder
 * placed an ineligible result in a Write chunk, or left an eligible one inline in spite of its Write chunk; in a
 * message sent, the application put an ineligible item aside. The error is permanent.
 */
public final class DdpEligibilityException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    DdpEligibilityException(String message) {
        super(message);
    }
}
