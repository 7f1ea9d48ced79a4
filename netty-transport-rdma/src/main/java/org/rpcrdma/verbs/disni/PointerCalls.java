// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.impl.NatObject;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import java.io.IOException;

/**
 * {@code libdisni} itself: takes the structures by address. DiSNI's own call objects cannot change opcode, key or number of
 * ranges once made, so that nearly each post would need a new one.
 */
final class PointerCalls implements DataPath {

    private final NativeDispatcher dispatcher;

    PointerCalls(NativeDispatcher dispatcher) {
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
    public int poll(IbvCQ queue, NativeMemory completions, int most) throws IOException {
        int count =
                dispatcher._pollCQ(((NatObject) queue).getObjId(), most, completions.address(0));
        if (count < 0) {
            throw new IOException("ibv_poll_cq failed with " + count);
        }
        return count;
    }
}
