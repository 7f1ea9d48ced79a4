// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.SystemPropertyUtil;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.VerbsContext;

/**
 * Registered memory of one event loop, cut into buffers of fixed sizes. Memory is registered slab by slab and never
 * given back before the loop ends, so that nothing is registered on the data path.
 *
 * <p>Buffers are taken on the event loop and may be released anywhere.
 */
final class RegisteredBufferPool extends AbstractByteBufAllocator {

    private static final int SMALLEST = 256;

    private static final int LARGEST = 1 << 30;

    /** Sizes between two powers of two: an eighth is wasted on average. */
    private static final int STEPS_LOG2 = 2;

    private static final int SLAB = 1 << 20;

    /** Bytes of registered memory that one event loop may have. */
    private static final long LIMIT =
            SystemPropertyUtil.getLong(
                    "org.rpcrdma.registeredMemoryLimit", PlatformDependent.maxDirectMemory());

    private final VerbsContext context;
    private final BooleanSupplier inEventLoop;
    private final boolean hasUnsafe;

    /** The registered slabs, by ascending address. */
    private MemoryRegion[] regions = new MemoryRegion[16];

    private int regionCount;

    @SuppressWarnings({"unchecked", "rawtypes"})
    private final ArrayDeque<RegisteredMemory>[] free = new ArrayDeque[32 << STEPS_LOG2];

    /** Released on other threads. */
    private final Queue<RegisteredMemory> returned = PlatformDependent.newMpscQueue();

    private MemoryRegion lastFound;
    private long bytes;

    /** Bytes of the buffers that are out, what other threads have released and nobody fetched yet included. */
    private long lentBytes;

    private long nextVirtualAddress = 1L << 20;
    private volatile boolean closed;

    RegisteredBufferPool(VerbsContext context, BooleanSupplier inEventLoop) {
        super(true);
        this.context = context;
        this.inEventLoop = inEventLoop;
        this.hasUnsafe = Unpooled.wrappedBuffer(ByteBuffer.allocateDirect(1)).hasMemoryAddress();
    }

    /** A buffer of that capacity, without room to grow, watched by Netty's leak detector. Event loop only. */
    ByteBuf registered(int capacity) {
        return toLeakAwareBuffer(take(capacity).buffer());
    }

    /** As {@link #registered} for a buffer that stays with the transport and is not watched. */
    RegisteredMemory take(int capacity) {
        checkInRange(capacity, 0, LARGEST, "capacity");
        assert inEventLoop.getAsBoolean();
        int sizeClass = sizeClass(capacity);
        ArrayDeque<RegisteredMemory> list = free[sizeClass];
        if (list == null) {
            list = free[sizeClass] = new ArrayDeque<>();
        }
        RegisteredMemory memory = list.pollLast();
        if (memory == null) {
            fetchReturned();
            memory = list.pollLast();
        }
        if (memory == null) {
            addSlab(sizeClass, list);
            memory = list.pollLast();
        }
        memory.lend(capacity);
        lentBytes += size(sizeClass);
        return memory;
    }

    private void fetchReturned() {
        for (RegisteredMemory back = returned.poll(); back != null; back = returned.poll()) {
            putBack(back);
        }
    }

    private void putBack(RegisteredMemory memory) {
        free[memory.sizeClass()].addLast(memory);
        lentBytes -= size(memory.sizeClass());
    }

    /** Bytes that are lent: posted as receives, in messages, under way. Event loop only. */
    long lentBytes() {
        fetchReturned();
        return lentBytes;
    }

    /** Bytes of all slabs. */
    long bytes() {
        return bytes;
    }

    /** The most bytes that may be registered. */
    static long limit() {
        return LIMIT;
    }

    /** Lets a buffer out of the hands of the transport: from now on it is watched by Netty's leak detector. */
    static ByteBuf watched(RegisteredMemory memory) {
        return toLeakAwareBuffer(memory.buffer());
    }

    void takeBack(RegisteredMemory memory) {
        if (closed) {
            return;
        }
        if (inEventLoop.getAsBoolean()) {
            putBack(memory);
        } else {
            returned.add(memory);
        }
    }

    /** The region that holds these bytes, or {@code null} when they are not registered memory of this pool. */
    MemoryRegion region(long address, int length) {
        if (holds(lastFound, address, length)) {
            return lastFound;
        }
        int i = indexAfter(address) - 1;
        if (i < 0 || !holds(regions[i], address, length)) {
            return null;
        }
        lastFound = regions[i];
        return lastFound;
    }

    /** The index of the first slab that starts after that address. */
    private int indexAfter(long address) {
        int low = 0;
        int high = regionCount;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (regions[middle].address() <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void insert(MemoryRegion region) {
        if (regionCount == regions.length) {
            regions = Arrays.copyOf(regions, 2 * regionCount);
        }
        int i = indexAfter(region.address());
        System.arraycopy(regions, i, regions, i + 1, regionCount - i);
        regions[i] = region;
        regionCount++;
    }

    private static boolean holds(MemoryRegion region, long address, int length) {
        return region != null
                && address >= region.address()
                && address - region.address() <= region.length() - length;
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

    private void addSlab(int sizeClass, ArrayDeque<RegisteredMemory> list) {
        int size = size(sizeClass);
        int count = Math.max(1, SLAB / size);
        if (bytes + (long) size * count > LIMIT) {
            throw new IllegalStateException(
                    "registered memory of this event loop is used up: "
                            + bytes
                            + " bytes (limit: "
                            + LIMIT
                            + ", set by -Dorg.rpcrdma.registeredMemoryLimit)");
        }
        ByteBuffer slab = ByteBuffer.allocateDirect(size * count);
        ByteBuf whole = Unpooled.wrappedBuffer(slab);
        MemoryRegion region = register(slab, hasUnsafe ? whole.memoryAddress() : 0);
        // A device that registers when it has to does so now, or refuses: then the slab is not
        // kept.
        region.localKey();
        bytes += slab.capacity();
        insert(region);
        for (int i = 0; i < count; i++) {
            RegisteredMemory.Place place =
                    new RegisteredMemory.Place(
                            this, region, region.address() + (long) i * size, sizeClass);
            RegisteredMemory memory =
                    RegisteredMemory.create(slab.slice(i * size, size), hasUnsafe, place);
            // It is born with a reference; the free list holds buffers with none.
            lentBytes += size;
            memory.buffer().release();
        }
        assert !list.isEmpty();
    }

    /** The index of the smallest size that holds that capacity. */
    static int sizeClass(int capacity) {
        int n = Math.max(capacity, SMALLEST) - 1;
        int log2 = 31 - Integer.numberOfLeadingZeros(n);
        return (log2 << STEPS_LOG2) + (n >>> (log2 - STEPS_LOG2)) - (1 << STEPS_LOG2) + 1;
    }

    /** The size in bytes of the buffers of a class. */
    static int size(int sizeClass) {
        int log2 = sizeClass >>> STEPS_LOG2;
        int step = sizeClass & ((1 << STEPS_LOG2) - 1);
        return (1 << log2) + (step << (log2 - STEPS_LOG2));
    }

    /** Ends all registrations. Buffers that are still lent keep their memory, which the garbage collector frees. */
    void close() {
        closed = true;
        for (int i = 0; i < regionCount; i++) {
            regions[i].deregister();
        }
        regionCount = 0;
        lastFound = null;
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
