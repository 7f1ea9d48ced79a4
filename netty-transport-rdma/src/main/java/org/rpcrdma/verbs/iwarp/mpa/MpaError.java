// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/** The errors of MPA: RFC 5044, 8 and RFC 6581, 8. All have the error type 0. */
public enum MpaError implements StreamError {
    TCP_LOST(1),
    CRC(2),
    FRAMING(3),
    INVALID_FRAME(4),
    LOCAL_CATASTROPHIC(5),
    INSUFFICIENT_IRD(6),
    NO_MATCHING_RTR(7);

    private final int code;

    MpaError(int code) {
        this.code = code;
    }

    @Override
    public int layer() {
        return LAYER_LLP;
    }

    @Override
    public int type() {
        return 0;
    }

    @Override
    public int code() {
        return code;
    }
}
