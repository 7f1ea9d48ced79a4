// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static io.netty.util.internal.ObjectUtil.checkInRange;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * Pool of registered memory of one event loop. Allocates and registers memory in slabs ({@link
 * MemoryRegionRegistry}), splits slabs into blocks of any size ({@link SlabBlockAllocator}), and caches small buffers
 * with their memory ({@link SizeClassBufferCache}). Frees unused slabs, except for the spare memory that {@link
 * DirectMemoryBudget} permits.
 *
 * <p>Buffers are taken on the event loop and may be released anywhere.
 */
public final class RegisteredBufferPool extends AbstractByteBufAllocator {

    private static final int LARGEST = 1 << 30;

    private static final int SLAB = 1 << 20;

    /**
     * Threshold of bytes in use below which the last slab may become unused with each message; such a slab counts as
     * spare meanwhile.
     */
    private static final int BUSY = SLAB / 2;

    /** The least number of bytes worth trimming from a buffer in use. */
    public static final int LEAST_TRIMMED = 4096;

    /** The most buffer objects without memory in the free list. */
    private static final int MOST_SHELLS = 1024;

    /** Listener of refused allocations, called on the event loop or on the thread that called {@link #take}. */
    @FunctionalInterface
    public interface RefusalListener {
        /**
         * @param bytes of the buffer
         * @param why in words
         */
        void refused(long bytes, String why);
    }

    private final RefusalListener refusalListener;
    private final DirectMemoryBudget budget;
    private final BooleanSupplier inEventLoop;
    private final MemoryRegionRegistry slabs;

    /** Whether Netty accesses memory by its native address. */
    final boolean hasAddresses;

    private final SlabBlockAllocator blocks = new SlabBlockAllocator();
    private final SizeClassBufferCache ready = new SizeClassBufferCache();
    private final ArrayDeque<RegisteredByteBuf> buffers = new ArrayDeque<>();

    /** Released on other threads. */
    private final Queue<RegisteredByteBuf> returned = PlatformDependent.newMpscQueue();

    /** Schedules {@link #collect()} on the event loop. */
    private final Runnable collector;

    /** Whether {@link #collect()} is scheduled and has not begun. */
    private final AtomicBoolean isCollectorCalled = new AtomicBoolean();

    // Written on the event loop only; other threads may read slightly old values.
    private long refusals;

    /** Bytes of slabs in use. */
    private long usedBytes;

    /**
     * Spare bytes granted by the budget, at least {@link #spareBytes()}. Requested rarely, because all loops contend
     * for the budget.
     */
    private long allowedBytes;

    /** Bytes of buffers in use, including those released on other threads and not yet collected. */
    private long lentBytes;

    private volatile boolean closed;

    /**
     * @param budget to allocate slabs from
     * @param collector called on other threads: schedules {@link #collect()} on the event loop
     * @param refusals listener of refused allocations
     */
    public RegisteredBufferPool(
            EventLoopVerbsContext context,
            DirectMemoryBudget budget,
            BooleanSupplier inEventLoop,
            Runnable collector,
            RefusalListener refusals) {
        super(true);
        this.budget = budget;
        slabs = new MemoryRegionRegistry(context, budget);
        hasAddresses = slabs.hasUnsafe;
        this.inEventLoop = inEventLoop;
        this.collector = collector;
        refusalListener = refusals;
    }

    /**
     * Allocates a buffer of fixed capacity, tracked by Netty's leak detector. Event loop only.
     *
     * @throws IllegalStateException for lack of memory, without waiting
     */
    public ByteBuf registered(int capacity) {
        return watched(take(capacity));
    }

    /**
     * As {@link #registered}, for a message that is written at once: tracked only if the leak detector tracks all
     * buffers, because a leak record costs more than the buffer.
     */
    public ByteBuf toSend(int capacity) {
        RegisteredByteBuf memory = take(capacity);
        return ResourceLeakDetector.getLevel().compareTo(ResourceLeakDetector.Level.SIMPLE) > 0
                ? watched(memory)
                : memory;
    }

    /** As {@link #registered}, for a buffer inside the transport, without leak detection. */
    public RegisteredByteBuf take(int capacity) {
        if (capacity < 0 || capacity > LARGEST) {
            checkInRange(capacity, 0, LARGEST, "capacity"); // names the limits
        }
        assert inEventLoop.getAsBoolean();
        if (isCollectorCalled.get()) {
            fetchReturned();
        }
        int size = FreeBlockLists.size(capacity);
        RegisteredByteBuf buffer = ready.poll(size);
        if (buffer == null) {
            buffer = cut(size);
        }
        Slab slab = buffer.block.slab;
        if (slab.lent++ == 0) {
            usedBytes += slab.size;
        }
        lentBytes += size;
        if (lentBytes > BUSY && allowedBytes > spareBytes()) {
            disallow();
        }
        buffer.lend(capacity);
        return buffer;
    }

    private RegisteredByteBuf cut(int size) {
        // Steps that may fail come first, so that nothing has to be undone.
        if (buffers.isEmpty()) {
            buffers.addLast(new RegisteredByteBuf(this));
        }
        SlabBlock block = freeBlock(size);
        if (block.size > size) {
            blocks.cut(block, size);
        }
        RegisteredByteBuf buffer = buffers.pollLast();
        buffer.hold(block);
        return buffer;
    }

    private SlabBlock freeBlock(int size) {
        SlabBlock block = blocks.take(size);
        if (block == null && !ready.isEmpty()) {
            freeReady();
            block = blocks.take(size);
        }
        if (block != null) {
            return block;
        }
        try {
            return blocks.whole(slabs.make(allocate(Math.max(size, SLAB))));
        } catch (Throwable t) {
            refusals++;
            refusalListener.refused(size, t.getMessage());
            throw t;
        }
    }

    /**
     * Returns the unused rest of a buffer to the pool, if large enough. Event loop only.
     *
     * @param buffer owned by the transport only
     * @param used bytes to keep, from index 0
     */
    public void trim(RegisteredByteBuf buffer, int used) {
        SlabBlock block = buffer.block;
        int size = FreeBlockLists.size(used);
        int spared = block.size - size;
        if (spared < LEAST_TRIMMED) {
            return;
        }
        buffer.shrink(used);
        blocks.cut(block, size);
        lentBytes -= spared;
    }

    /**
     * Collects buffers released on other threads, so that an idle event loop does not hold their memory. Event loop
     * only.
     */
    public void collect() {
        isCollectorCalled.set(false);
        fetchReturned();
    }

    private void fetchReturned() {
        for (RegisteredByteBuf back = returned.poll(); back != null; back = returned.poll()) {
            putBack(back);
        }
    }

    private void putBack(RegisteredByteBuf buffer) {
        SlabBlock block = buffer.block;
        Slab slab = block.slab;
        lentBytes -= block.size;
        if (closed || !ready.offer(buffer)) {
            free(buffer);
        }
        if (--slab.lent == 0) {
            usedBytes -= slab.size;
            if (closed || !tryAllowSpare()) {
                freeReady();
                giveBack(slab);
            }
        }
    }

    private void free(RegisteredByteBuf buffer) {
        SlabBlock block = buffer.block;
        buffer.forget();
        if (buffers.size() < MOST_SHELLS) {
            buffers.addLast(buffer);
        }
        blocks.free(block);
    }

    private void freeReady() {
        ready.drain(this::free);
    }

    private boolean tryAllowSpare() {
        long more = spareBytes() - allowedBytes;
        if (more > 0) {
            if (!budget.tryReserveSpare(more)) {
                return false;
            }
            allowedBytes += more;
        }
        return true;
    }

    /** Returns the spare grant to the budget: the spare slabs are in use. */
    private void disallow() {
        long spare = spareBytes();
        budget.releaseSpare(allowedBytes - spare);
        allowedBytes = spare;
    }

    /** Bytes in use: posted as receives, held by messages, or in flight. Event loop only. */
    public long lentBytes() {
        fetchReturned();
        return lentBytes;
    }

    /** As {@link #lentBytes()}, possibly including buffers just released on other threads. Any thread. */
    public long lentBytesLately() {
        return lentBytes;
    }

    /** Number of refused allocations. Any thread. */
    public long refusals() {
        return refusals;
    }

    /** Number of registrations made, of slabs and of unpooled memory. Any thread. */
    public long registrations() {
        return slabs.registrations();
    }

    /** Bytes of all slabs. Any thread. */
    public long bytes() {
        return slabs.bytes;
    }

    /** Bytes of unused slabs, included in {@link #bytes()}. */
    public long spareBytes() {
        return slabs.bytes - usedBytes;
    }

    /** Passes a buffer to the user: Netty's leak detector tracks it from now on. */
    public static ByteBuf watched(RegisteredByteBuf memory) {
        ByteBuf tracked = toLeakAwareBuffer(memory);
        if (tracked != memory) {
            memory.trackedBy(tracked);
        }
        return tracked;
    }

    void takeBack(RegisteredByteBuf buffer) {
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

    /** Collects after the end of the event loop, on the thread that releases a buffer. */
    private synchronized void fetchLate() {
        fetchReturned();
    }

    /** The region that holds these bytes, or {@code null} when they are not registered memory of this pool. */
    public MemoryRegion region(long address, int length) {
        return slabs.region(address, length);
    }

    /**
     * Registers memory outside of this pool, until {@link MemoryRegion#deregister()}.
     *
     * @param buffer direct and in one piece
     */
    public MemoryRegion register(ByteBuf buffer, int index, int length) {
        return slabs.register(buffer, index, length);
    }

    private ByteBuffer allocate(int size) {
        try {
            return budget.allocate(size);
        } catch (IllegalStateException e) {
            if (spareBytes() == 0) {
                throw e;
            }
            giveBackSpare();
            return budget.allocate(size);
        }
    }

    private void giveBack(Slab slab) {
        blocks.forget(slab);
        slabs.free(slab, !closed);
    }

    private void giveBackSpare() {
        freeReady();
        blocks.eachWhole(SLAB, this::giveBack);
        disallow();
    }

    /** Ends all registrations, and frees unused slabs. Buffers in use keep their memory. */
    public synchronized void close() {
        slabs.forgetAll();
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
