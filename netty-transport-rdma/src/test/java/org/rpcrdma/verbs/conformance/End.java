// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** One end of a connection: its queue pair, one registered region, and everything it was told. */
final class End implements QueuePairHandler {

    /** What a handler heard of a work request. */
    record Completion(long id, WorkStatus status, int length, int invalidatedKey) {}

    /** What a handler heard of an RDMA Write with Immediate. */
    record Written(long id, int length, int immediate) {}

    final EventLoopVerbsContext context;
    final ByteBuffer memory;
    final long base;
    final MemoryRegion region;

    /** From here on the peer gets memory for what it writes where none was exposed. */
    static final int GIVEN = 4000;

    /** What memory was given for. */
    record Given(int key, int start, int length) {}

    private record Place(long address, MemoryRegion region, int length)
            implements ReceiveMemoryRange {}

    final List<Given> given = new ArrayList<>();

    /** How often there is none. */
    int waits;

    /** Everything in order: completions, and the names of the other calls. */
    final List<Object> heard = new ArrayList<>();

    QueuePair queuePair;
    Throwable failure;
    byte[] peerData;
    boolean isConnected;
    boolean hasEnded;
    boolean hasFailed;

    /** Whether RDMA Writes with Immediate are expected. */
    boolean takesImmediates;

    Throwable endedBy;

    End(EventLoopVerbsContext context, int bytes) {
        this.context = context;
        this.memory = ByteBuffer.allocateDirect(bytes);
        this.base = PlatformDependent.directBufferAddress(memory);
        this.region = context.register(memory, base);
    }

    @Override
    public void connected(byte[] privateData) {
        isConnected = true;
        peerData = privateData;
        heard.add("connected");
    }

    @Override
    public void connectFailed(Throwable cause) {
        failure = cause;
        hasFailed = true;
        heard.add("connectFailed");
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        heard.add(new Completion(id, status, length, invalidatedKey));
    }

    @Override
    public boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        heard.add(new Written(id, length, immediate));
        return takesImmediates;
    }

    /** Each piece has 100 bytes to itself. */
    @Override
    public ReceiveMemoryRange writeMemory(int key, int start, int length) {
        if (waits > 0) {
            waits--;
            return null;
        }
        long address = base + GIVEN + 100L * given.size();
        given.add(new Given(key, start, length));
        return new Place(address, region, 100);
    }

    @Override
    public void disconnected(Throwable cause) {
        hasEnded = true;
        endedBy = cause;
        heard.add("disconnected");
    }

    List<Completion> completions() {
        return heard.stream()
                .filter(Completion.class::isInstance)
                .map(Completion.class::cast)
                .toList();
    }

    Completion completion(long id) {
        return completions().stream().filter(c -> c.id() == id).findFirst().orElse(null);
    }

    boolean isComplete(long id) {
        return completion(id) != null;
    }

    void receive(long id, int offset, int length) {
        queuePair.postReceive(id, base + offset, length, region.localKey());
    }

    void gather(int offset, int length) {
        queuePair.gather(base + offset, length, region.localKey());
    }

    int expose(int offset, int length, int access) {
        return queuePair.expose(region, base + offset, length, access);
    }

    void put(int offset, byte... bytes) {
        memory.put(offset, bytes);
    }

    byte[] get(int offset, int length) {
        byte[] bytes = new byte[length];
        memory.get(offset, bytes);
        return bytes;
    }
}
