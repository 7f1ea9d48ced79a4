// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The responder speaks no version of RPC-over-RDMA that is spoken here (RFC 8166, 4.5.1). The connection is closed. */
public final class ErrVersReplyException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final int lowest;
    private final int highest;

    ErrVersReplyException(int lowest, int highest) {
        super(
                "the responder speaks RPC-over-RDMA versions "
                        + Integer.toUnsignedString(lowest)
                        + " to "
                        + Integer.toUnsignedString(highest)
                        + " (expected: one that is spoken here, 1, or 2 if configured)");
        this.lowest = lowest;
        this.highest = highest;
    }

    boolean contains(int version) {
        return Integer.compareUnsigned(lowest, version) <= 0
                && Integer.compareUnsigned(version, highest) <= 0;
    }

    /** {@return the lowest version that the responder speaks, unsigned} */
    public int lowest() {
        return lowest;
    }

    /** {@return the highest version that the responder speaks, unsigned} */
    public int highest() {
        return highest;
    }
}
