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
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.VerbsContext;

/**
 * Registered memory of one event loop. It is allocated and registered slab by slab ({@link SlabRegistry}) and lent in
 * blocks of any size ({@link SlabAllocator}); small buffers wait with their memory for whoever needs it next ({@link
 * SizeClassBufferCache}). A slab of which nothing is lent is given back, but for what {@link DirectMemory}
 * spares.
 *
 * <p>Buffers are taken on the event loop and may be released anywhere.
 */
public final class RegisteredBufferPool extends AbstractByteBufAllocator {

    private static final int LARGEST = 1 << 30;

    private static final int SLAB = 1 << 20;

    /**
     * Who has lent more does not come back to nothing with each message. Who has lent less may: its slab counts as
     * spare meanwhile.
     */
    private static final int BUSY = SLAB / 2;

    /** Less is not worth taking back from a buffer that is lent. */
    public static final int LEAST_TRIMMED = 4096;

    /** Buffers without memory that are kept for later. */
    private static final int MOST_SHELLS = 1024;

    /** Told of each buffer that there is no memory for, on the event loop or where {@link #take} was called. */
    @FunctionalInterface
    public interface RefusalListener {
        /**
         * @param bytes of the buffer
         * @param why in words
         */
        void refused(long bytes, String why);
    }

    private final RefusalListener refusalListener;
    private final DirectMemory budget;
    private final BooleanSupplier inEventLoop;
    private final SlabRegistry slabs;
    private final SlabAllocator blocks = new SlabAllocator();
    private final SizeClassBufferCache ready = new SizeClassBufferCache();
    private final ArrayDeque<RegisteredByteBuf> buffers = new ArrayDeque<>();

    /** Released on other threads. */
    private final Queue<RegisteredByteBuf> returned = PlatformDependent.newMpscQueue();

    /** Has {@link #collect()} called on the event loop. */
    private final Runnable collector;

    /** Whether it was asked for and did not begin yet: what other threads have released is fetched then. */
    private final AtomicBoolean isCollectorCalled = new AtomicBoolean();

    // Written on the event loop alone; other threads may see numbers that are a little old.
    private long refusals;

    /** Of the slabs of which something is lent. */
    private long usedBytes;

    /**
     * What the budget lets stay without use, at least {@link #spareBytes()}: it is asked seldom, for all loops share
     * it.
     */
    private long allowedBytes;

    /** Bytes of the buffers that are out, what other threads have released and nobody fetched yet included. */
    private long lentBytes;

    private volatile boolean closed;

    /**
     * @param budget what slabs are allocated from
     * @param collector called on other threads: has {@link #collect()} called on the event loop
     * @param refusals told of each buffer that there is no memory for
     */
    public RegisteredBufferPool(
            VerbsContext context,
            DirectMemory budget,
            BooleanSupplier inEventLoop,
            Runnable collector,
            RefusalListener refusals) {
        super(true);
        this.budget = budget;
        slabs = new SlabRegistry(context, budget);
        this.inEventLoop = inEventLoop;
        this.collector = collector;
        refusalListener = refusals;
    }

    /**
     * A buffer of that capacity, without room to grow, watched by Netty's leak detector. Event loop only.
     *
     * @throws IllegalStateException when there is no memory for it; nothing waits for some
     */
    public ByteBuf registered(int capacity) {
        return toLeakAwareBuffer(take(capacity));
    }

    /**
     * As {@link #registered} for a message that is written at once: it is watched only where all buffers are, for a
     * record of a buffer costs more than the buffer.
     */
    public ByteBuf toSend(int capacity) {
        RegisteredByteBuf memory = take(capacity);
        return ResourceLeakDetector.getLevel().compareTo(ResourceLeakDetector.Level.SIMPLE) > 0
                ? toLeakAwareBuffer(memory)
                : memory;
    }

    /** As {@link #registered} for a buffer that stays with the transport and is not watched. */
    public RegisteredByteBuf take(int capacity) {
        checkInRange(capacity, 0, LARGEST, "capacity");
        assert inEventLoop.getAsBoolean();
        if (isCollectorCalled.get()) {
            fetchReturned();
        }
        int size = FreeBlockLists.size(capacity);
        RegisteredByteBuf buffer = ready.poll(size);
        if (buffer == null) {
            buffer = cut(size);
        }
        Slab slab = buffer.block().slab;
        if (slab.lent++ == 0) {
            usedBytes += slab.size();
        }
        lentBytes += size;
        if (lentBytes > BUSY && allowedBytes > spareBytes()) {
            disallow();
        }
        buffer.lend(capacity);
        return buffer;
    }

    private RegisteredByteBuf cut(int size) {
        // What may fail comes before what would have to be taken back.
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
     * Takes back what a buffer turns out not to need, when that is worth it. Event loop only.
     *
     * @param buffer nobody but the transport has it
     * @param used its bytes that are needed, from index 0 on
     */
    public void trim(RegisteredByteBuf buffer, int used) {
        SlabBlock block = buffer.block();
        int size = FreeBlockLists.size(used);
        int spared = block.size - size;
        if (spared < LEAST_TRIMMED) {
            return;
        }
        buffer.shrink(used);
        blocks.cut(block, size);
        lentBytes -= spared;
    }

    boolean hasAddresses() {
        return slabs.hasAddresses();
    }

    /**
     * Takes back what was released on other threads: an event loop without work holds no memory for it. Event
     * loop only.
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
        SlabBlock block = buffer.block();
        Slab slab = block.slab;
        lentBytes -= block.size;
        if (closed || !ready.offer(buffer)) {
            free(buffer);
        }
        if (--slab.lent == 0) {
            usedBytes -= slab.size();
            if (closed || !tryAllowSpare()) {
                freeReady();
                giveBack(slab);
            }
        }
    }

    private void free(RegisteredByteBuf buffer) {
        SlabBlock block = buffer.block();
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
            if (!budget.spare(more)) {
                return false;
            }
            allowedBytes += more;
        }
        return true;
    }

    /** The slabs that were spare are used in earnest: others may have as many. */
    private void disallow() {
        long spare = spareBytes();
        budget.unspare(allowedBytes - spare);
        allowedBytes = spare;
    }

    /** Bytes that are lent: posted as receives, in messages, under way. Event loop only. */
    public long lentBytes() {
        fetchReturned();
        return lentBytes;
    }

    /** As {@link #lentBytes()} without those that were just released on other threads taken off. Any thread. */
    public long lentBytesLately() {
        return lentBytes;
    }

    /** Buffers that there was no memory for. Any thread. */
    public long refusals() {
        return refusals;
    }

    /** Registrations that were made, of slabs and of memory of others. Any thread. */
    public long registrations() {
        return slabs.registrations();
    }

    /** Bytes of all slabs. Any thread. */
    public long bytes() {
        return slabs.bytes();
    }

    /** Bytes of slabs of which nothing is lent, included in {@link #bytes()}. */
    public long spareBytes() {
        return slabs.bytes() - usedBytes;
    }

    /** Lets a buffer out of the hands of the transport: from now on it is watched by Netty's leak detector. */
    public static ByteBuf watched(ByteBuf memory) {
        return toLeakAwareBuffer(memory);
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

    /** There is no event loop any more: whoever releases a buffer gives its slab back, one at a time. */
    private synchronized void fetchLate() {
        fetchReturned();
    }

    /** The region that holds these bytes, or {@code null} when they are not registered memory of this pool. */
    public MemoryRegion region(long address, int length) {
        return slabs.region(address, length);
    }

    /**
     * Registers memory that is not of this pool, until {@link MemoryRegion#deregister()}.
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

    /** Ends all registrations, and frees what is not lent. Buffers that are still lent keep their memory. */
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
