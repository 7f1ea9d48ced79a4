// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.ToLongFunction;

/**
 * The receives of a queue pair: {@code ibv_recv_wr} with one range each. They gather until they are handed
 * over together.
 */
final class ReceiveWorkRequestRing extends AbstractWorkRequestRing {

    ReceiveWorkRequestRing(ToLongFunction<ByteBuffer> addresses, long tag, int depth) {
        super(addresses, tag, depth, WorkRequestLayout.RECEIVE_SIZE, 1);
    }

    void add(long id, long address, int length, int key) {
        if (isFull()) {
            throw new IllegalStateException(
                    "The receive queue is full with "
                            + depth()
                            + " receives; raise QueuePairConfig.receiveDepth");
        }
        checkLength(length);
        int slot = open(id);
        // Verbs take a length of 0 for 2^31: no range is what has no bytes.
        memory.bytes.putInt(slot * size + WorkRequestLayout.WR_RANGE_COUNT, length == 0 ? 0 : 1);
        range(slot, 0, address, length, key);
    }

    @Override
    void post(NativeQueuePair queuePair, int first) throws IOException {
        queuePair.postReceive(memory, first);
    }

    /** Completes the oldest receive if it has that position; {@code false} if the receive is already complete. */
    boolean tryComplete(int position) {
        if (position != head || isEmpty()) {
            return false;
        }
        head++;
        return true;
    }
}
