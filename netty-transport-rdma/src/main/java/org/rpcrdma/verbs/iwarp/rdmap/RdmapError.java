// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.iwarp.mpa.StreamError;

/** The errors of RDMAP: RFC 5040, 4.8. */
public enum RdmapError implements StreamError {
    LOCAL_CATASTROPHIC(0, 0xff),
    PROTECTION_INVALID_STAG(1, 0),
    PROTECTION_BOUNDS(1, 1),
    PROTECTION_ACCESS(1, 2),
    PROTECTION_NOT_ASSOCIATED(1, 3),
    PROTECTION_WRAP(1, 4),
    PROTECTION_CANNOT_INVALIDATE(1, 9),
    OPERATION_VERSION(2, 5),
    OPERATION_UNEXPECTED_OPCODE(2, 6),
    OPERATION_CATASTROPHIC_STREAM(2, 7),
    OPERATION_CANNOT_INVALIDATE(2, 9);

    private final int type;
    private final int code;

    RdmapError(int type, int code) {
        this.type = type;
        this.code = code;
    }

    @Override
    public int layer() {
        return LAYER_RDMAP;
    }

    @Override
    public int type() {
        return type;
    }

    @Override
    public int code() {
        return code;
    }
}
