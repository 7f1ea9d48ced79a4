// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledUnsafeDirectByteBuf;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Direct memory of a user that knows whether it was given back too early. */
public final class UserMemory extends UnpooledUnsafeDirectByteBuf {

    private final List<String> problems = new CopyOnWriteArrayList<>();
    private final long address;
    private final int length;
    private FaultContext context;

    public UserMemory(byte[] data) {
        super(UnpooledByteBufAllocator.DEFAULT, data.length, data.length);
        writeBytes(data);
        address = memoryAddress();
        length = data.length;
    }

    /** A sink, all of it writable. */
    public UserMemory(int capacity) {
        super(UnpooledByteBufAllocator.DEFAULT, capacity, capacity);
        address = memoryAddress();
        length = capacity;
    }

    /** The device that it is lent to; its last reference has to go on the thread of that event loop. */
    public void lentTo(FaultContext device) {
        context = device;
    }

    /** What is wrong when this memory is given back, or let go of, now. Event loop only. */
    public String problem() {
        if (context.isExposed(address, length)) {
            return "memory of the user is given back while the peer reaches it";
        }
        return context.isPosted(address, length)
                ? "memory of the user is given back while the device uses it"
                : null;
    }

    /** What was wrong when its last reference went. */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    @Override
    public boolean release() {
        checkHeld(1);
        return super.release();
    }

    @Override
    public boolean release(int decrement) {
        checkHeld(decrement);
        return super.release(decrement);
    }

    private void checkHeld(int decrement) {
        if (refCnt() < decrement) {
            problems.add("memory of the user is released once more than it is held");
        }
    }

    @Override
    protected void deallocate() {
        if (context != null && problem() != null) {
            problems.add(problem());
        }
        super.deallocate();
    }
}
