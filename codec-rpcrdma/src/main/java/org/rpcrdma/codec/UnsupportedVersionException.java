// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The responder does not speak version 1 (RFC 8166, 4.5.1). The connection is closed. */
public final class UnsupportedVersionException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final int lowest;
    private final int highest;

    UnsupportedVersionException(int lowest, int highest) {
        super(
                "the responder speaks RPC-over-RDMA versions "
                        + Integer.toUnsignedString(lowest)
                        + " to "
                        + Integer.toUnsignedString(highest)
                        + " (expected: 1 among them)");
        this.lowest = lowest;
        this.highest = highest;
    }

    /** The lowest version that the responder speaks, unsigned. */
    public int lowest() {
        return lowest;
    }

    /** The highest version that the responder speaks, unsigned. */
    public int highest() {
        return highest;
    }
}
