// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

/** A reply was not written: its call is answered already, or there is none. */
public final class CallAnsweredException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    /**
     * The failure of a write.
     *
     * @param xid of the reply
     */
    public CallAnsweredException(int xid) {
        super(
                "reply with XID 0x"
                        + Integer.toHexString(xid)
                        + " (expected: that of a call not answered yet)");
    }
}
