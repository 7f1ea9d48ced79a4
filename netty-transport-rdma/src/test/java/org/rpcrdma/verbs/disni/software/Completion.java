// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.IbvWC.IbvWcOpcode;
import com.ibm.disni.verbs.IbvWC.IbvWcStatus;
import java.io.IOException;
import java.io.UncheckedIOException;

/** An entry of a completion queue. */
record Completion(
        SoftwareQueuePair queuePair,
        long workId,
        IbvWcStatus status,
        IbvWcOpcode opcode,
        int length,
        int invalidatedKey) {

    private static final int WITH_INVALIDATE = 1 << 3;

    /** Fills in what DiSNI would: of an error only the number, the status and the opcode. */
    @SuppressWarnings("EnumOrdinal") // the numbers of DiSNI's constants
    void copyTo(IbvWC to) {
        to.setWr_id(workId);
        to.setStatus(status.ordinal());
        to.setOpcode(opcode.getOpcode());
        if (status != IbvWcStatus.IBV_WC_SUCCESS) {
            return;
        }
        try {
            to.setQp_num(queuePair.getQp_num());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        to.setByte_len(length);
        to.setImm_data(invalidatedKey);
        to.setWc_flags(invalidatedKey == 0 ? 0 : WITH_INVALIDATE);
    }
}
