// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import org.rpcrdma.verbs.iwarp.mpa.StreamError;

/** The errors of DDP: RFC 5041, 8.2. */
public enum DdpError implements StreamError {
    LOCAL_CATASTROPHIC(0, 0),
    TAGGED_INVALID_STAG(1, 0),
    TAGGED_BOUNDS(1, 1),
    TAGGED_NOT_ASSOCIATED(1, 2),
    TAGGED_WRAP(1, 3),
    TAGGED_VERSION(1, 4),
    UNTAGGED_QN(2, 1),
    UNTAGGED_NO_BUFFER(2, 2),
    UNTAGGED_MSN(2, 3),
    UNTAGGED_MO(2, 4),
    UNTAGGED_TOO_LONG(2, 5),
    UNTAGGED_VERSION(2, 6);

    private final int type;
    private final int code;

    DdpError(int type, int code) {
        this.type = type;
        this.code = code;
    }

    @Override
    public int layer() {
        return LAYER_DDP;
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
