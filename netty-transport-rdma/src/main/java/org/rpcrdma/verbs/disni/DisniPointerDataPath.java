// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.impl.NatIbvRecvWR;
import com.ibm.disni.verbs.impl.NatIbvSendWR;
import com.ibm.disni.verbs.impl.NatObject;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.WorkRequestLayout;

/**
 * {@code libdisni} itself: takes the structures by address. DiSNI's own call objects cannot change opcode, key or
 * number of ranges once made, so that nearly each post would need a new one.
 */
final class DisniPointerDataPath implements DisniDataPath {

    private final NativeDispatcher dispatcher;

    /**
     * @throws IOException when {@code libdisni} was built for structures of other sizes
     */
    DisniPointerDataPath(NativeDispatcher dispatcher) throws IOException {
        if (NatIbvSendWR.CSIZE != WorkRequestLayout.SEND_SIZE
                || NatIbvRecvWR.CSIZE != WorkRequestLayout.RECEIVE_SIZE
                || IbvWC.CSIZE != WorkRequestLayout.WC_SIZE) {
            throw new IOException(
                    "libdisni has structures of other sizes than a 64-bit libibverbs; build it on"
                            + " this machine");
        }
        this.dispatcher = dispatcher;
    }

    @Override
    public void postSend(IbvQP queuePair, NativeMemory memory, int first) throws IOException {
        dispatcher._postSend(((NatObject) queuePair).getObjId(), memory.address(first));
    }

    @Override
    public void postReceive(IbvQP queuePair, NativeMemory memory, int first) throws IOException {
        dispatcher._postRecv(((NatObject) queuePair).getObjId(), memory.address(first));
    }

    @Override
    public int poll(IbvCQ queue, NativeMemory completions, int index, int most) throws IOException {
        int count =
                dispatcher._pollCQ(
                        ((NatObject) queue).getObjId(), most, completions.address(index));
        if (count < 0) {
            throw new IOException("ibv_poll_cq failed with " + count);
        }
        return count;
    }
}
