// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.impl.NatIbvRecvWR;
import com.ibm.disni.verbs.impl.NatIbvSendWR;
import com.ibm.disni.verbs.impl.NatIbvSge;

/**
 * Where the fields of {@code ibv_send_wr}, {@code ibv_recv_wr}, {@code ibv_sge} and {@code ibv_wc} are. The sizes are those
 * that DiSNI knows, which it corrects when it loads {@code libdisni}: read them not before.
 */
final class Layout {

    /** The first fields of both kinds of work request. */
    static final int WR_ID = 0;

    static final int WR_NEXT = 8;
    static final int WR_RANGES = 16;
    static final int WR_RANGE_COUNT = 24;

    static final int SEND_OPCODE = 28;
    static final int SEND_FLAGS = 32;

    /** Immediate data; of a Send with Invalidate the key. */
    static final int SEND_INVALIDATE = 36;

    static final int RANGE_ADDRESS = 0;
    static final int RANGE_LENGTH = 8;
    static final int RANGE_KEY = 12;

    static final int WC_ID = 0;
    static final int WC_STATUS = 8;
    static final int WC_LENGTH = 20;

    /** Immediate data; with {@link Opcodes#WC_WITH_INVALIDATE} the key that the peer invalidated. */
    static final int WC_INVALIDATED = 24;

    static final int WC_FLAGS = 36;

    private Layout() {}

    static int sendSize() {
        return NatIbvSendWR.CSIZE;
    }

    static int remoteAddress() {
        return NatIbvSendWR.REMOTEADDR_OFFSET;
    }

    static int remoteKey() {
        return NatIbvSendWR.RKEY_OFFSET;
    }

    static int receiveSize() {
        return NatIbvRecvWR.CSIZE;
    }

    static int rangeSize() {
        return NatIbvSge.CSIZE;
    }

    static int completionSize() {
        return IbvWC.CSIZE;
    }
}
