// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.hardware.NativeCmId;
import org.rpcrdma.verbs.hardware.NativeEventLoopDevice;
import org.rpcrdma.verbs.hardware.NativeMemory;
import org.rpcrdma.verbs.hardware.NativeRegion;
import org.rpcrdma.verbs.hardware.NativeWindow;
import org.rpcrdma.verbs.hardware.VerbsConstants;

/**
 * One event loop's share of a device through libibverbs and librdmacm. The loop's thread waits in one {@code ppoll} for
 * completions, connection events, device events and wake-ups.
 *
 * <p>Each event is copied and acknowledged at once, so that nothing that is destroyed has to wait for it.
 */
final class FfmEventLoopDevice implements NativeEventLoopDevice {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(FfmEventLoopDevice.class);

    /** A look for events is a system call: after so many polls without one. */
    private static final int POLLS_WITHOUT_A_LOOK = 64;

    /** Room for the largest structure that is passed, and private data behind it. */
    private static final int SCRATCH = 1024;

    private final Supplier<NativeFunctions> libraries;
    private final NativeFunctions library;
    private final NativeFunctions.Operations operations;
    private final FfmLocalDevice device;
    private final CmEventDispatcher connections;
    private final DeviceCapabilities capabilities;
    private final FileDescriptorWaiter waiter;
    private final long domain;
    private final long channel;
    private final long queue;
    private final long events;
    private final Arena arena = Arena.ofShared();
    private final long scratch = arena.allocate(SCRATCH, Long.BYTES).address();
    private final long bad = arena.allocate(Long.BYTES, Long.BYTES).address();
    private final long event = arena.allocate(Long.BYTES, Long.BYTES).address();

    /** Tasks from other threads. */
    private final Queue<Runnable> tasks = PlatformDependent.newMpscQueue();

    /** Reference count: the loop, and other users of the resources that {@link #free} releases. */
    private final AtomicInteger users = new AtomicInteger(1);

    private volatile boolean isClosed;
    private int polls;
    private boolean isArmed;

    /**
     * @param libraries makes one for each thread
     */
    FfmEventLoopDevice(FfmConfig config, Supplier<NativeFunctions> libraries) throws IOException {
        this.libraries = libraries;
        library = libraries.get();
        ConstructorCleanup undo = new ConstructorCleanup();
        try {
            undo.add(arena::close);
            device = FfmLocalDevice.open(library, config.device());
            undo.add(() -> device.close(library));
            connections = new CmEventDispatcher(this, device);
            operations = library.operations(device.context());
            domain = Errno.checkPointer(library, "ibv_alloc_pd", library.allocPd(context()));
            undo.add(() -> library.deallocPd(domain));
            boolean hasWindows = wantsWindows(config) && device.mayHaveWindows() && givesWindow();
            capabilities =
                    device.capabilities().toBuilder()
                            .cheapRegistration(config.registrationCache() > 0)
                            .remoteInvalidation(hasWindows)
                            .keyPerConnection(hasWindows)
                            .build();
            channel =
                    Errno.checkPointer(
                            library,
                            "ibv_create_comp_channel",
                            library.createCompChannel(context()));
            undo.add(() -> library.destroyCompChannel(channel));
            queue =
                    Errno.checkPointer(
                            library,
                            "ibv_create_cq",
                            library.createCq(
                                    context(),
                                    Math.min(config.completions(), device.maxCompletions()),
                                    channel,
                                    device.nextVector()));
            undo.add(() -> library.destroyCq(queue));
            events =
                    Errno.checkPointer(
                            library, "rdma_create_event_channel", library.createEventChannel());
            undo.add(() -> library.destroyEventChannel(events));
            waiter =
                    new FileDescriptorWaiter(
                            library,
                            CMemory.getInt(channel + StructLayouts.CHANNEL_FD),
                            CMemory.getInt(events),
                            CMemory.getInt(context() + StructLayouts.CONTEXT_ASYNC_FD));
        } catch (IOException | RuntimeException | Error e) {
            undo.run();
            throw e;
        }
    }

    private boolean wantsWindows(FfmConfig config) {
        return config.windows() == null ? !device.isSoftRoce() : config.windows();
    }

    /** Some libraries do not support capabilities that their device reports. */
    private boolean givesWindow() throws IOException {
        long window = operations.allocMw(domain, StructLayouts.MW_TYPE_2);
        if (window == 0) {
            logger.debug("{} gives no memory window: {}", this, Errno.text(library.errno()));
            return false;
        }
        Errno.checkNumber("ibv_dealloc_mw", operations.deallocMw(window));
        return true;
    }

    /** Targets of connection events. */
    CmEventDispatcher connections() {
        return connections;
    }

    NativeFunctions library() {
        return library;
    }

    /** For another thread. */
    NativeFunctions newLibrary() {
        return libraries.get();
    }

    NativeFunctions.Operations operations() {
        return operations;
    }

    long context() {
        return device.context();
    }

    long domain() {
        return domain;
    }

    long queue() {
        return queue;
    }

    long eventChannel() {
        return events;
    }

    boolean isIwarp() {
        return device.isIwarp();
    }

    /** Memory for the arguments of one call. */
    long scratch() {
        return scratch;
    }

    /** Memory for the refused work request of a post; never read. */
    long bad() {
        return bad;
    }

    /** An address for one call. */
    long put(InetSocketAddress address) throws UnknownHostException {
        SocketAddresses.put(scratch, address);
        return scratch;
    }

    @Override
    public DeviceCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public int completions() {
        return CMemory.getInt(queue + StructLayouts.CQ_ENTRIES);
    }

    @Override
    public boolean needsRemoteSinks() {
        return device.isIwarp();
    }

    @Override
    public String toString() {
        return "the RDMA device " + device.name();
    }

    @Override
    public long address(ByteBuffer memory) {
        return MemorySegment.ofBuffer(memory).address();
    }

    @Override
    public NativeRegion register(ByteBuffer memory, int access) throws IOException {
        return register(address(memory.duplicate().clear()), memory.capacity(), access);
    }

    @Override
    public NativeRegion register(long address, int length, int access) throws IOException {
        long region =
                Errno.checkPointer(
                        library, "ibv_reg_mr", library.regMr(domain, address, length, access));
        try {
            return new FfmRegion(library, address, length, region);
        } catch (Throwable t) {
            // Nobody else knows it, and its memory is about to be freed.
            library.deregMr(region);
            throw t;
        }
    }

    @Override
    public NativeWindow newWindow() throws IOException {
        // Its memory is found before the library makes one (JLS, 15.9.4), and nothing more is
        // needed behind.
        return new FfmWindow(
                operations,
                Errno.checkPointer(
                        library,
                        "ibv_alloc_mw",
                        operations.allocMw(domain, StructLayouts.MW_TYPE_2)));
    }

    /** The driver of soft-RoCE passes the kernel's own flag on, which means nothing here to a connection. */
    @Override
    public int invalidationFlags() {
        return device.isSoftRoce()
                ? VerbsConstants.WC_WITH_INVALIDATE | StructLayouts.KERNEL_WITH_INVALIDATE
                : VerbsConstants.WC_WITH_INVALIDATE;
    }

    /** Linux stops when a window of soft-RoCE is invalidated that is invalidated already. */
    @Override
    public boolean invalidatesWindows() {
        return !device.isSoftRoce();
    }

    @Override
    public NativeCmId newId() throws IOException {
        CMemory.putLong(scratch, 0);
        try {
            Errno.check(library, "rdma_create_id", library.createId(events, scratch));
            return new FfmCmId(this, CMemory.getLong(scratch), false);
        } catch (Throwable t) {
            // It is made, perhaps, and nobody knows it.
            long half = CMemory.getLong(scratch);
            if (half != 0) {
                library.destroyId(half);
            }
            throw t;
        }
    }

    @Override
    public InetSocketAddress connectFrom(InetSocketAddress local, InetSocketAddress peer)
            throws SocketException {
        int port = local == null ? 0 : local.getPort();
        return local == null || local.getAddress().isAnyLocalAddress()
                ? new InetSocketAddress(device.addressTowards(library, events, peer), port)
                : local;
    }

    /** At all addresses it hears one family: the other one's wildcard may be listened at beside. */
    @Override
    public InetSocketAddress listenAt(InetSocketAddress local) {
        return local;
    }

    // ------------------------------------------------------------------ what comes from the device

    @Override
    public int poll(NativeMemory to, int index, int most) throws IOException {
        int count = operations.pollCq(queue, most, to.address(index));
        if (count < 0) {
            throw Errno.failed("ibv_poll_cq", count);
        }
        return count;
    }

    /** Has something done by the thread of the loop. Callable from any thread. */
    void later(Runnable task) {
        tasks.add(task);
        waiter.wakeup();
        if (isClosed) {
            runLateTasks();
        }
    }

    /** The loop has ended, so that its memory is unused. */
    private synchronized void runLateTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            CmEventDispatcher.guard(task);
        }
    }

    /** Has something done, now if this is the thread of the loop for certain. */
    void onLoop(boolean maybeNot, Runnable task) {
        if (maybeNot) {
            later(task);
        } else {
            task.run();
        }
    }

    @Override
    public int deliverEvents(int most) {
        int delivered = runTasks();
        boolean isLook = ++polls >= POLLS_WITHOUT_A_LOOK || most == Integer.MAX_VALUE;
        if (!isLook && !waiter.hasEvents()) {
            return delivered;
        }
        polls = 0;
        takeDeviceEvents();
        while (delivered < most) {
            if (library.getCmEvent(events, event) == -1) {
                waiter.eventsTaken();
                break;
            }
            delivered++;
            connections.deliver(CMemory.getLong(event));
        }
        return delivered;
    }

    private int runTasks() {
        int count = tasks.size();
        for (int i = 0; i < count; i++) {
            CmEventDispatcher.guard(tasks.remove());
        }
        return count;
    }

    private void takeDeviceEvents() {
        while (library.getAsyncEvent(context(), scratch) != -1) {
            int type = CMemory.getInt(scratch + StructLayouts.ASYNC_TYPE);
            long element = CMemory.getLong(scratch + StructLayouts.ASYNC_ELEMENT);
            Consumer<String> owner;
            try {
                owner = AsyncEventRouter.owner(type, element);
            } finally {
                library.ackAsyncEvent(scratch); // else destroying the queue pair never ends
            }
            if (owner != null) {
                AsyncEventRouter.tell(owner, type);
            }
        }
    }

    /** The device touches no memory for it any more. */
    void breakQueuePair(long queuePair) {
        CMemory.clear(scratch, StructLayouts.QP_ATTR_SIZE);
        CMemory.putInt(scratch + StructLayouts.QP_ATTR_STATE, StructLayouts.QP_STATE_ERROR);
        int result = library.modifyQp(queuePair, scratch, StructLayouts.QP_STATE_MASK);
        if (result != 0) {
            logger.debug("A queue pair could not be broken: {}", Errno.text(Math.abs(result)));
        }
    }

    // ------------------------------------------------------------------ waiting

    @Override
    public void arm() throws IOException {
        if (!isArmed) {
            Errno.checkNumber("ibv_req_notify_cq", operations.reqNotifyCq(queue, 0));
            isArmed = true;
        }
    }

    @Override
    public void sleep(long nanos) throws IOException {
        if (!tasks.isEmpty()) {
            return;
        }
        waiter.sleep(nanos);
        if (waiter.hasCompletions()) {
            while (library.getCqEvent(channel, scratch, scratch + Long.BYTES) != -1) {
                library.ackCqEvents(queue, 1); // else the queue could not be destroyed
                isArmed = false;
            }
        }
    }

    @Override
    public void wakeup() {
        waiter.wakeup();
    }

    // ------------------------------------------------------------------ the end

    /** Something needs what there is beyond the end of the loop. */
    void retain() {
        users.incrementAndGet();
    }

    /** @param mine of the calling thread */
    void release(NativeFunctions mine) {
        if (users.decrementAndGet() == 0) {
            free(mine);
        }
    }

    @Override
    public void close() {
        isClosed = true;
        runLateTasks();
        waiter.close();
        release(library);
    }

    private void free(NativeFunctions mine) {
        report("ibv_destroy_cq", mine.destroyCq(queue));
        report("ibv_destroy_comp_channel", mine.destroyCompChannel(channel));
        report("ibv_dealloc_pd", mine.deallocPd(domain));
        mine.destroyEventChannel(events);
        device.close(mine);
        arena.close();
    }

    private static void report(String call, int result) {
        if (result != 0) {
            logger.warn("{} failed: {}", call, Errno.text(Math.abs(result)));
        }
    }
}
