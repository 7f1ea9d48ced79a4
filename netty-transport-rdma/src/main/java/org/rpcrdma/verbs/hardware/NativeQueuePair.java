// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;

/**
 * A queue pair of the device. Its work requests are C structures, laid out by the caller: see {@link
 * WorkRequestLayout}.
 */
public interface NativeQueuePair {

    /**
     * Posts a list of {@code ibv_send_wr}.
     *
     * @param first the index of the first
     * @throws IOException when the device has refused a work request; the number accepted before is unknown
     */
    void postSend(NativeMemory memory, int first) throws IOException;

    /** Posts a list of {@code ibv_recv_wr}; as {@link #postSend}. */
    void postReceive(NativeMemory memory, int first) throws IOException;

    /** Takes it from the device, which touches no memory for it any more. */
    void destroy() throws IOException;
}
