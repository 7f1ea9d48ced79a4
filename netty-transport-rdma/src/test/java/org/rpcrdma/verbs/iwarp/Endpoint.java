// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** One end of a connection in a test: its queue pair, one registered region, and everything it was told. */
final class Endpoint implements QueuePairHandler {

    /** What a handler heard of a work request. */
    record Completion(long id, WorkStatus status, int length, int invalidatedKey) {}

    /** Made up: work requests carry any number the caller likes. */
    static final long BASE = 0x7f00_0000_1000L;

    final IwarpContext context;
    final ByteBuffer memory;
    final MemoryRegion region;
    final List<Completion> completions = new ArrayList<>();
    final List<Throwable> ends = new ArrayList<>();
    QueuePair queuePair;
    byte[] connectedWith;
    Throwable connectFailure;
    Runnable onCompletion = () -> {};

    /** For receives that were posted without memory; {@code null} while there is none. */
    ReceiveMemoryRange given;

    Endpoint(IwarpContext context, int bytes) {
        this.context = context;
        this.memory = ByteBuffer.allocateDirect(bytes);
        this.region = context.register(memory, BASE);
    }

    @Override
    public void connected(byte[] privateData) {
        connectedWith = privateData;
    }

    @Override
    public void connectFailed(Throwable cause) {
        connectFailure = cause;
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        completions.add(new Completion(id, status, length, invalidatedKey));
        onCompletion.run();
    }

    @Override
    public void disconnected(Throwable cause) {
        ends.add(cause);
    }

    @Override
    public ReceiveMemoryRange receiveMemory(long id, int length) {
        return given;
    }

    boolean isConnected() {
        return connectedWith != null;
    }

    boolean isEnded() {
        return !ends.isEmpty();
    }

    Completion completion(long id) {
        return completions.stream().filter(c -> c.id() == id).findFirst().orElse(null);
    }

    void receive(long id, int offset, int length) {
        queuePair.postReceive(id, BASE + offset, length, region.localKey());
    }

    void gather(int offset, int length) {
        queuePair.gather(BASE + offset, length, region.localKey());
    }

    int expose(int offset, int length, int access) {
        return queuePair.expose(region, BASE + offset, length, access);
    }

    void put(int offset, byte[] bytes) {
        memory.put(offset, bytes);
    }

    byte[] get(int offset, int length) {
        byte[] bytes = new byte[length];
        memory.get(offset, bytes);
        return bytes;
    }
}
