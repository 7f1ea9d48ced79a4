// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.VerbsContext;

/**
 * Registered memory of one event loop. It is allocated and registered slab by slab and lent in blocks of any size: a
 * free block is split for a smaller buffer, and joined with its free neighbours when a buffer comes back, so that
 * memory which is free serves every size. A slab of which nothing is lent is given back, but for what
 * {@link DirectMemory} spares.
 *
 * <p>Buffers are taken on the event loop and may be released anywhere.
 */
final class RegisteredBufferPool extends AbstractByteBufAllocator {

    private static final int LARGEST = 1 << 30;

    private static final int SLAB = 1 << 20;

    /**
     * Who has lent more does not come back to nothing with each message. Who has lent less may: its slab counts as
     * spare meanwhile.
     */
    private static final int BUSY = SLAB / 2;

    /** Less is not worth taking back from a buffer that is lent. */
    private static final int LEAST_TRIMMED = 4096;

    /** Buffers and blocks without memory that are kept for later. */
    private static final int MOST_SHELLS = 1024;

    private final VerbsContext context;
    private final DirectMemory budget;
    private final BooleanSupplier inEventLoop;
    private final boolean hasUnsafe = PlatformDependent.hasUnsafe();

    /** By ascending address of their regions. */
    private Slab[] slabs = new Slab[16];

    private int slabCount;
    private Slab lastFound;

    private final FreeBlocks free = new FreeBlocks();
    private final ArrayDeque<Block> blocks = new ArrayDeque<>();
    private final ArrayDeque<RegisteredMemory> buffers = new ArrayDeque<>();

    /** Released on other threads. */
    private final Queue<RegisteredMemory> returned = PlatformDependent.newMpscQueue();

    /** Has {@link #collect()} called on the event loop. */
    private final Runnable collector;

    /** Whether it was asked for and did not begin yet. */
    private final AtomicBoolean isCollectorCalled = new AtomicBoolean();

    // Written on the event loop alone; other threads may see numbers that are a little old.
    private long refusals;
    private long bytes;
    private long spareBytes;

    /**
     * What the budget lets stay without use, at least {@link #spareBytes}: it is asked seldom, for all loops share it.
     */
    private long allowedBytes;

    /** Bytes of the buffers that are out, what other threads have released and nobody fetched yet included. */
    private long lentBytes;

    private long nextVirtualAddress = 1L << 20;
    private volatile boolean closed;

    /**
     * @param budget what slabs are allocated from
     * @param collector called on other threads: has {@link #collect()} called on the event loop
     */
    RegisteredBufferPool(
            VerbsContext context,
            DirectMemory budget,
            BooleanSupplier inEventLoop,
            Runnable collector) {
        super(true);
        this.context = context;
        this.budget = budget;
        this.inEventLoop = inEventLoop;
        this.collector = collector;
    }

    /**
     * A buffer of that capacity, without room to grow, watched by Netty's leak detector. Event loop only.
     *
     * @throws IllegalStateException when there is no memory for it; nothing waits for some
     */
    ByteBuf registered(int capacity) {
        return toLeakAwareBuffer(take(capacity));
    }

    /** As {@link #registered} for a buffer that stays with the transport and is not watched. */
    RegisteredMemory take(int capacity) {
        checkInRange(capacity, 0, LARGEST, "capacity");
        assert inEventLoop.getAsBoolean();
        fetchReturned();
        int size = FreeBlocks.size(capacity);
        Block block = free.poll(size);
        if (block == null) {
            try {
                block = newSlab(Math.max(size, SLAB));
            } catch (Throwable t) {
                refusals++;
                FlightEvents.memoryRefused(size, t.getMessage());
                throw t;
            }
        } else if (isWhole(block)) {
            spareBytes -= block.size;
        }
        if (block.size > size) {
            free.add(split(block, size));
        }
        lentBytes += block.size;
        if (lentBytes > BUSY && allowedBytes > spareBytes) {
            disallow();
        }
        RegisteredMemory buffer = buffers.pollLast();
        if (buffer == null) {
            buffer = new RegisteredMemory(this);
        }
        buffer.lend(block, capacity);
        return buffer;
    }

    /**
     * Takes back what a buffer turns out not to need, when that is worth it. Event loop only.
     *
     * @param buffer nobody but the transport has it
     * @param used its bytes that are needed, from index 0 on
     */
    void trim(RegisteredMemory buffer, int used) {
        Block block = buffer.block();
        int size = FreeBlocks.size(used);
        int spared = block.size - size;
        if (spared < LEAST_TRIMMED) {
            return;
        }
        buffer.shrink(used);
        Block rest = split(block, size);
        if (rest.right != null && rest.right.isFree) {
            free.remove(rest.right);
            join(rest);
        }
        free.add(rest);
        lentBytes -= spared;
    }

    boolean hasAddresses() {
        return hasUnsafe;
    }

    private static boolean isWhole(Block block) {
        return block.left == null && block.right == null;
    }

    /** Makes a block that small; returns the rest. */
    private Block split(Block block, int size) {
        Block rest = newBlock(block.slab, block.offset + size, block.size - size);
        block.size = size;
        rest.left = block;
        rest.right = block.right;
        if (rest.right != null) {
            rest.right.left = rest;
        }
        block.right = rest;
        return rest;
    }

    private Block newBlock(Slab slab, int offset, int size) {
        Block block = blocks.pollLast();
        if (block == null) {
            block = new Block();
        }
        block.slab = slab;
        block.offset = offset;
        block.size = size;
        return block;
    }

    private void forget(Block block) {
        block.slab = null;
        block.left = null;
        block.right = null;
        if (blocks.size() < MOST_SHELLS) {
            blocks.addLast(block);
        }
    }

    /** Joins a block with its right neighbour. */
    private void join(Block block) {
        Block other = block.right;
        block.size += other.size;
        block.right = other.right;
        if (block.right != null) {
            block.right.left = block;
        }
        forget(other);
    }

    /**
     * Takes back what was released on other threads: an event loop without work holds no memory for it. Event
     * loop only.
     */
    void collect() {
        isCollectorCalled.set(false);
        fetchReturned();
    }

    private void fetchReturned() {
        for (RegisteredMemory back = returned.poll(); back != null; back = returned.poll()) {
            putBack(back);
        }
    }

    private void putBack(RegisteredMemory buffer) {
        Block block = buffer.block();
        buffer.forget();
        if (buffers.size() < MOST_SHELLS) {
            buffers.addLast(buffer);
        }
        lentBytes -= block.size;
        if (block.right != null && block.right.isFree) {
            free.remove(block.right);
            join(block);
        }
        if (block.left != null && block.left.isFree) {
            block = block.left;
            free.remove(block);
            join(block);
        }
        if (!isWhole(block)) {
            free.add(block);
        } else if (!closed && mayBeSpare(block.size)) {
            spareBytes += block.size;
            free.add(block);
        } else {
            giveBack(block);
        }
    }

    private boolean mayBeSpare(int size) {
        long more = spareBytes + size - allowedBytes;
        if (more > 0) {
            if (!budget.spare(more)) {
                return false;
            }
            allowedBytes += more;
        }
        return true;
    }

    /** The slabs that were spare are used in earnest: others may have as many. */
    private void disallow() {
        budget.unspare(allowedBytes - spareBytes);
        allowedBytes = spareBytes;
    }

    /** Bytes that are lent: posted as receives, in messages, under way. Event loop only. */
    long lentBytes() {
        fetchReturned();
        return lentBytes;
    }

    /** As {@link #lentBytes()} without those that were just released on other threads taken off. Any thread. */
    long lentBytesLately() {
        return lentBytes;
    }

    /** Buffers that there was no memory for. Any thread. */
    long refusals() {
        return refusals;
    }

    /** Bytes of all slabs. Any thread. */
    long bytes() {
        return bytes;
    }

    /** Bytes of slabs of which nothing is lent, included in {@link #bytes()}. */
    long spareBytes() {
        return spareBytes;
    }

    /** Lets a buffer out of the hands of the transport: from now on it is watched by Netty's leak detector. */
    static ByteBuf watched(RegisteredMemory memory) {
        return toLeakAwareBuffer(memory);
    }

    void takeBack(RegisteredMemory buffer) {
        if (!closed && inEventLoop.getAsBoolean()) {
            putBack(buffer);
            return;
        }
        returned.add(buffer);
        if (closed) {
            fetchLate();
        } else if (!isCollectorCalled.getAndSet(true)) {
            collector.run();
        }
    }

    /** There is no event loop any more: whoever releases a buffer gives its slab back, one at a time. */
    private synchronized void fetchLate() {
        fetchReturned();
    }

    /** The region that holds these bytes, or {@code null} when they are not registered memory of this pool. */
    MemoryRegion region(long address, int length) {
        if (!holds(lastFound, address, length)) {
            int i = indexAfter(address) - 1;
            if (i < 0 || !holds(slabs[i], address, length)) {
                return null;
            }
            lastFound = slabs[i];
        }
        return lastFound.region();
    }

    /** The index of the first slab that starts after that address. */
    private int indexAfter(long address) {
        int low = 0;
        int high = slabCount;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (slabs[middle].region().address() <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private static boolean holds(Slab slab, long address, int length) {
        return slab != null
                && address >= slab.region().address()
                && address - slab.region().address() <= slab.size() - length;
    }

    /**
     * Registers memory that is not of this pool, until {@link MemoryRegion#deregister()}.
     *
     * @param buffer direct and in one piece
     */
    MemoryRegion register(ByteBuf buffer, int index, int length) {
        return register(
                buffer.nioBuffer(index, length),
                buffer.hasMemoryAddress() ? buffer.memoryAddress() + index : 0);
    }

    private MemoryRegion register(ByteBuffer memory, long address) {
        if (address != 0) {
            return context.register(memory, address);
        }
        // Without Unsafe nobody knows the address; any will do that no other region has.
        long virtual = nextVirtualAddress;
        nextVirtualAddress += memory.remaining() + 4096L;
        return context.register(memory, virtual);
    }

    private Block newSlab(int size) {
        ByteBuffer memory = allocate(size);
        MemoryRegion region = null;
        try {
            long address = hasUnsafe ? PlatformDependent.directBufferAddress(memory) : 0;
            region = register(memory, address);
            // A device that registers when it has to does so now, or refuses.
            region.localKey();
            Slab slab = new Slab(memory, address, region);
            insert(slab);
            bytes += size;
            return newBlock(slab, 0, size);
        } catch (Throwable t) {
            if (region != null) {
                region.forget();
            }
            budget.free(memory);
            throw t;
        }
    }

    private ByteBuffer allocate(int size) {
        try {
            return budget.allocate(size);
        } catch (IllegalStateException e) {
            if (spareBytes == 0) {
                throw e;
            }
            giveBackSpare();
            return budget.allocate(size);
        }
    }

    private void insert(Slab slab) {
        if (slabCount == slabs.length) {
            slabs = Arrays.copyOf(slabs, 2 * slabCount);
        }
        int i = indexAfter(slab.region().address());
        System.arraycopy(slabs, i, slabs, i + 1, slabCount - i);
        slabs[i] = slab;
        slabCount++;
    }

    private void giveBack(Block whole) {
        Slab slab = whole.slab;
        forget(whole);
        int i = indexAfter(slab.region().address()) - 1;
        System.arraycopy(slabs, i + 1, slabs, i, --slabCount - i);
        slabs[slabCount] = null;
        lastFound = null;
        bytes -= slab.size();
        if (!closed) {
            slab.region().forget();
        }
        budget.free(slab.memory());
    }

    private void giveBackSpare() {
        List<Block> parts = new ArrayList<>();
        for (Block block = free.poll(SLAB); block != null; block = free.poll(SLAB)) {
            if (isWhole(block)) {
                spareBytes -= block.size;
                giveBack(block);
            } else {
                parts.add(block);
            }
        }
        parts.forEach(free::add);
        disallow();
    }

    /** Ends all registrations, and frees what is not lent. Buffers that are still lent keep their memory. */
    synchronized void close() {
        for (int i = 0; i < slabCount; i++) {
            slabs[i].region().forget();
        }
        closed = true;
        giveBackSpare();
        fetchReturned();
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return UnpooledByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        return registered(initialCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
        return true;
    }
}
