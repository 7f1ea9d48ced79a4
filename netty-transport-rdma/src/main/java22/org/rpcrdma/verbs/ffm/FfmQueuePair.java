// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.NativeQueuePair;

/** An {@code ibv_qp}, which is its identifier's. */
final class FfmQueuePair implements NativeQueuePair {

    private final FfmCmId id;
    private final NativeFunctions.Operations operations;
    private final long bad;
    private long pointer;

    /** @param bad where the library writes the first work request that it has refused */
    FfmQueuePair(FfmCmId id, NativeFunctions.Operations operations, long bad, long pointer) {
        this.id = id;
        this.operations = operations;
        this.bad = bad;
        this.pointer = pointer;
    }

    long pointer() {
        return pointer;
    }

    @Override
    public void postSend(NativeMemory memory, int first) throws IOException {
        requireOpen();
        Errno.checkNumber(
                "ibv_post_send", operations.postSend(pointer, memory.address(first), bad));
    }

    @Override
    public void postReceive(NativeMemory memory, int first) throws IOException {
        requireOpen();
        Errno.checkNumber(
                "ibv_post_recv", operations.postRecv(pointer, memory.address(first), bad));
    }

    private void requireOpen() throws IOException {
        if (pointer == 0) {
            throw new IOException("the queue pair is destroyed");
        }
    }

    @Override
    public void destroy() {
        long gone = pointer;
        pointer = 0;
        if (gone != 0) {
            id.destroyQueuePair(gone);
        }
    }
}
