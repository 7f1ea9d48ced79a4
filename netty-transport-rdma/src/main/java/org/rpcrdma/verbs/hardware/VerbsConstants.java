// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.nio.ByteOrder;
import org.rpcrdma.verbs.CompletionError;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/** The numbers of {@code libibverbs}, and the words of the SPI for them. */
public final class VerbsConstants {

    /** {@code IBV_WR_RDMA_WRITE}. */
    public static final int WRITE = 0;

    /** {@code IBV_WR_RDMA_WRITE_WITH_IMM}. */
    public static final int WRITE_WITH_IMMEDIATE = 1;

    /** {@code IBV_WR_SEND}. */
    public static final int SEND = 2;

    /** {@code IBV_WR_RDMA_READ}. */
    public static final int READ = 4;

    /** {@code IBV_WR_LOCAL_INV}. */
    public static final int LOCAL_INVALIDATE = 7;

    /** {@code IBV_WR_BIND_MW}. */
    public static final int BIND = 8;

    /** {@code IBV_WR_SEND_WITH_INV}. */
    public static final int SEND_WITH_INVALIDATE = 9;

    /** {@code IBV_SEND_FENCE}. */
    public static final int FENCE = 1;

    /** {@code IBV_SEND_SIGNALED}. */
    public static final int SIGNALED = 1 << 1;

    /** {@code IBV_SEND_SOLICITED}. */
    public static final int SOLICITED = 1 << 2;

    /** {@code IBV_ACCESS_LOCAL_WRITE}. */
    public static final int LOCAL_WRITE = 1;

    /** {@code IBV_ACCESS_REMOTE_WRITE}; wants {@link #LOCAL_WRITE} too. */
    public static final int REMOTE_WRITE = 1 << 1;

    /** {@code IBV_ACCESS_REMOTE_READ}. */
    public static final int REMOTE_READ = 1 << 2;

    /** {@code IBV_ACCESS_MW_BIND}: memory windows may be bound to the registration. */
    public static final int WINDOWS = 1 << 4;

    /** {@code IBV_WC_SUCCESS}. */
    public static final int SUCCESS = 0;

    /** {@code IBV_WC_WR_FLUSH_ERR}. */
    public static final int FLUSHED = 5;

    /** {@code IBV_WC_RECV}. */
    public static final int WC_RECEIVE = 1 << 7;

    /** {@code IBV_WC_RECV_RDMA_WITH_IMM}: the memory of the receive is unchanged. */
    public static final int WC_RECEIVE_WRITTEN = WC_RECEIVE + 1;

    /** {@code IBV_WC_WITH_IMM}. */
    public static final int WC_WITH_IMMEDIATE = 1 << 1;

    /** {@code IBV_WC_WITH_INV}. */
    public static final int WC_WITH_INVALIDATE = 1 << 3;

    /** {@code ibv_wc_status}. */
    private static final String[] STATUS = {
        "SUCCESS",
        "LOC_LEN_ERR",
        "LOC_QP_OP_ERR",
        "LOC_EEC_OP_ERR",
        "LOC_PROT_ERR",
        "WR_FLUSH_ERR",
        "MW_BIND_ERR",
        "BAD_RESP_ERR",
        "LOC_ACCESS_ERR",
        "REM_INV_REQ_ERR",
        "REM_ACCESS_ERR",
        "REM_OP_ERR",
        "RETRY_EXC_ERR",
        "RNR_RETRY_EXC_ERR",
        "LOC_RDD_VIOL_ERR",
        "REM_INV_RD_REQ_ERR",
        "REM_ABORT_ERR",
        "INV_EECN_ERR",
        "INV_EEC_STATE_ERR",
        "FATAL_ERR",
        "RESP_TIMEOUT_ERR",
        "GENERAL_ERR"
    };

    private VerbsConstants() {}

    /** The flags of {@code ibv_send_wr} for those of the SPI. */
    static int sendFlags(int flags) {
        int bits = 0;
        if ((flags & QueuePair.SIGNALED) != 0) {
            bits |= SIGNALED;
        }
        if ((flags & QueuePair.FENCE) != 0) {
            bits |= FENCE;
        }
        if ((flags & QueuePair.SOLICITED) != 0) {
            bits |= SOLICITED;
        }
        return bits;
    }

    /** An immediate between the order of this machine and that of the network, either way. */
    public static int immediate(int value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN
                ? value
                : Integer.reverseBytes(value);
    }

    /** Maps an {@code ibv_wc_status}. A status unrelated to the work request itself becomes FLUSHED. */
    static WorkStatus status(int code) {
        return switch (code) {
            case SUCCESS -> WorkStatus.SUCCESS;
            case 1 -> WorkStatus.LOCAL_LENGTH_ERROR;
            case 2, 4, 8 -> WorkStatus.LOCAL_PROTECTION_ERROR;
            case 10 -> WorkStatus.REMOTE_ACCESS_ERROR;
            case 9, 11 -> WorkStatus.REMOTE_OPERATION_ERROR;
            default -> WorkStatus.FLUSHED;
        };
    }

    /** Why a work request has failed, of an {@code ibv_wc_status} that is neither success nor a flush. */
    static CompletionError error(int code) {
        return switch (code) {
            case 1 -> CompletionError.LOCAL_LENGTH;
            case 2, 4, 8 -> CompletionError.LOCAL_PROTECTION;
            case 9 -> CompletionError.REMOTE_REQUEST;
            case 10 -> CompletionError.REMOTE_ACCESS;
            case 11 -> CompletionError.REMOTE_OPERATION;
            case 12 -> CompletionError.NO_ANSWER;
            case 13 -> CompletionError.NO_RECEIVE;
            default -> CompletionError.OTHER;
        };
    }

    /** The name of a status for a message. */
    static String statusName(int code) {
        return code >= 0 && code < STATUS.length ? "IBV_WC_" + STATUS[code] : "status " + code;
    }
}
