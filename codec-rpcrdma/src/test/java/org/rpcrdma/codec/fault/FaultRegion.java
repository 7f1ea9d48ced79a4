// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/** A registration that is accounted for, and whose bytes can be looked at. */
final class FaultRegion implements MemoryRegion {

    private final FaultContext context;
    private final ByteBuffer memory;
    final MemoryRegion device;

    FaultRegion(FaultContext context, ByteBuffer memory, MemoryRegion device) {
        this.context = context;
        this.memory = memory.duplicate();
        this.device = device;
    }

    /** A word of network byte order. */
    int word(long at) {
        return memory.getInt(memory.position() + (int) (at - address()));
    }

    @Override
    public long address() {
        return device.address();
    }

    @Override
    public int length() {
        return device.length();
    }

    @Override
    public int localKey() {
        return device.localKey();
    }

    @Override
    public void deregister() {
        context.plan.before(Step.DEREGISTER);
        if (context.isPosted(address(), length())) {
            context.problem("memory of posted work is deregistered");
        }
        context.regions.remove(this);
        device.deregister();
    }
}
