// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/** One end of a connection, its memory, and what it has heard. */
final class End implements QueuePairHandler {

    private record Completion(WorkStatus status, int length, int invalidatedKey) {}

    final ByteBuf memory;
    private final MemoryRegion region;
    private final Map<Long, Queue<Completion>> completions = new HashMap<>();
    QueuePair queuePair;
    byte[] peerData;
    Throwable failure;

    /** What RDMA Writes of the peer have told, in their order. */
    final List<Integer> immediates = new ArrayList<>();

    boolean hasEnded;
    private int length;
    private int invalidatedKey;

    /** The number of completions, of any kind. */
    int completed;

    private boolean countsOnly;
    private boolean failed;

    End(EventLoopVerbsContext context, int bytes) {
        memory = Unpooled.directBuffer(bytes, bytes).setZero(0, bytes);
        region = context.register(memory.nioBuffer(0, bytes), memory.memoryAddress());
    }

    void receive(long id, int at, int bytes) {
        queuePair.postReceive(id, memory.memoryAddress() + at, bytes, region.localKey());
    }

    /** Adds a range of the memory to the work request that was opened last. */
    End gather(int at, int bytes) {
        queuePair.gather(memory.memoryAddress() + at, bytes, region.localKey());
        return this;
    }

    /** Posts a message. */
    void send(long id, int at, int bytes) {
        queuePair.send(id, QueuePair.SIGNALED);
        gather(at, bytes).queuePair.doorbell();
    }

    int expose(int at, int bytes, int access) {
        return queuePair.expose(region, memory.memoryAddress() + at, bytes, access);
    }

    boolean isComplete(long id) {
        return completions.containsKey(id) && !completions.get(id).isEmpty();
    }

    /** The status of a work request that is complete. */
    WorkStatus take(long id) {
        Completion taken = completions.get(id).remove();
        length = taken.length;
        invalidatedKey = taken.invalidatedKey;
        return taken.status;
    }

    /** Of the one that was taken last: the length of its message. */
    int length() {
        return length;
    }

    /** Of the one that was taken last: the key that the peer has invalidated, or 0. */
    int invalidatedKey() {
        return invalidatedKey;
    }

    void close() {
        if (queuePair != null) {
            queuePair.close();
        }
        region.deregister();
        memory.release();
    }

    /** Completions are counted, and forgotten: nothing is allocated for them. */
    void countOnly(boolean value) {
        countsOnly = value;
    }

    /** Whether a completion that was only counted was none of success. */
    boolean hasFailed() {
        return failed;
    }

    @Override
    public void connected(byte[] privateData) {
        peerData = privateData;
    }

    @Override
    public void connectFailed(Throwable cause) {
        failure = cause;
    }

    @Override
    public void completed(long id, WorkStatus status, int bytes, int key) {
        completed++;
        if (countsOnly) {
            failed |= status != WorkStatus.SUCCESS;
            return;
        }
        completions
                .computeIfAbsent(id, any -> new ArrayDeque<>())
                .add(new Completion(status, bytes, key));
    }

    @Override
    public boolean acceptWriteWithImmediate(long id, int bytes, int immediate) {
        immediates.add(immediate);
        return true;
    }

    @Override
    public void disconnected(Throwable cause) {
        hasEnded = true;
    }
}
