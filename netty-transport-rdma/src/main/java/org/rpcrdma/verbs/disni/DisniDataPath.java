// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeMemory;

/** The three calls of the data path, on C structures laid out by the caller. */
interface DisniDataPath {

    /** Posts a list of {@code ibv_send_wr} that begins at an index. */
    void postSend(IbvQP queuePair, NativeMemory memory, int first) throws IOException;

    /** Posts a list of {@code ibv_recv_wr} that begins at an index. */
    void postReceive(IbvQP queuePair, NativeMemory memory, int first) throws IOException;

    /** Takes up to so many completions off the queue, as {@code ibv_wc} from an index of the memory. */
    int poll(IbvCQ queue, NativeMemory completions, int index, int most) throws IOException;
}
