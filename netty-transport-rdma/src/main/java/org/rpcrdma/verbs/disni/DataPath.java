// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import java.io.IOException;

/** The three calls that are made all the time, on C structures laid out by the caller. See {@link Layout}. */
interface DataPath {

    /**
     * Posts a list of {@code ibv_send_wr}.
     *
     * @param first the index of the first
     * @throws IOException when the device has refused one; how many were taken before nobody can tell
     */
    void postSend(IbvQP queuePair, NativeMemory memory, int first) throws IOException;

    /** Posts a list of {@code ibv_recv_wr}; as {@link #postSend}. */
    void postReceive(IbvQP queuePair, NativeMemory memory, int first) throws IOException;

    /** Takes up to so many completions off the queue, as {@code ibv_wc} from index 0. */
    int poll(IbvCQ queue, NativeMemory completions, int most) throws IOException;
}
