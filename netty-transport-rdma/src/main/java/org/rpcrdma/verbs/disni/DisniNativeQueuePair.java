// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.NativeQueuePair;

/** A queue pair that DiSNI has made. */
final class DisniNativeQueuePair implements NativeQueuePair {

    private final DisniCmId id;
    private final DisniDataPath path;
    private final IbvQP queuePair;

    DisniNativeQueuePair(DisniCmId id, DisniDataPath path, IbvQP queuePair) {
        this.id = id;
        this.path = path;
        this.queuePair = queuePair;
    }

    @Override
    public void postSend(NativeMemory memory, int first) throws IOException {
        path.postSend(queuePair, memory, first);
    }

    @Override
    public void postReceive(NativeMemory memory, int first) throws IOException {
        path.postReceive(queuePair, memory, first);
    }

    @Override
    public void destroy() throws IOException {
        id.destroyQueuePair();
    }
}
