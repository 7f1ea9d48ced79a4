// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC.IbvWcStatus;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/** The numbers of {@code libibverbs} that DiSNI has no name for, and the words of the SPI for those that it has. */
final class Opcodes {

    /** {@code IBV_WR_SEND_WITH_INV}: unknown to DiSNI, which passes it through with the key in the place of immediate data. */
    static final int SEND_WITH_INVALIDATE = 9;

    /** {@code IBV_WC_SUCCESS}. */
    static final int SUCCESS = 0;

    /** {@code IBV_WC_WR_FLUSH_ERR}. */
    static final int FLUSHED = 5;

    /** {@code IBV_WC_WITH_INV}. */
    static final int WC_WITH_INVALIDATE = 1 << 3;

    private Opcodes() {}

    /** The flags of {@code ibv_send_wr} for those of the SPI. */
    static int sendFlags(int flags) {
        int bits = 0;
        if ((flags & QueuePair.SIGNALED) != 0) {
            bits |= IbvSendWR.IBV_SEND_SIGNALED;
        }
        if ((flags & QueuePair.FENCE) != 0) {
            bits |= IbvSendWR.IBV_SEND_FENCE;
        }
        if ((flags & QueuePair.SOLICITED) != 0) {
            bits |= IbvSendWR.IBV_SEND_SOLICITED;
        }
        return bits;
    }

    /** What an {@code ibv_wc_status} means. One that says nothing of the work request itself is FLUSHED. */
    static WorkStatus status(int code) {
        if (code < 0 || code >= STATUS.length) {
            return WorkStatus.FLUSHED;
        }
        return switch (STATUS[code]) {
            case IBV_WC_SUCCESS -> WorkStatus.SUCCESS;
            case IBV_WC_LOC_LEN_ERR -> WorkStatus.LOCAL_LENGTH_ERROR;
            case IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_ACCESS_ERR ->
                    WorkStatus.LOCAL_PROTECTION_ERROR;
            case IBV_WC_REM_ACCESS_ERR -> WorkStatus.REMOTE_ACCESS_ERROR;
            case IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR -> WorkStatus.REMOTE_OPERATION_ERROR;
            default -> WorkStatus.FLUSHED;
        };
    }

    /** The name of a status for a message. */
    static String statusName(int code) {
        return code >= 0 && code < STATUS.length ? STATUS[code].name() : "status " + code;
    }

    private static final IbvWcStatus[] STATUS = IbvWcStatus.values();
}
