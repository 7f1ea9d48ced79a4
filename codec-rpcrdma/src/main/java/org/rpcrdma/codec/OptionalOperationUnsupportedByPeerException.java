// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The responder does not know this optional operation of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3.1). */
public final class OptionalOperationUnsupportedByPeerException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final int type;

    OptionalOperationUnsupportedByPeerException(int type) {
        super("the responder does not know the option type 0x" + Integer.toHexString(type));
        this.type = type;
    }

    /** {@return the number of the operation, unsigned} */
    public int type() {
        return type;
    }
}
