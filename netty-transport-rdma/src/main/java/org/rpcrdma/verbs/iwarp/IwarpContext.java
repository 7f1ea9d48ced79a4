// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.DirectMemory;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.iwarp.memory.LocalMemory;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduBatchPool;
import org.rpcrdma.verbs.iwarp.rdmap.SendQueue;
import org.rpcrdma.verbs.iwarp.shared.SharedSegment;

/** One event loop's share of the software RNIC: a selector, a completion queue, an STag table and its streams. */
public final class IwarpContext implements VerbsContext {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(IwarpContext.class);

    static final int MAX_READ_DEPTH = 128;

    /** How often is asked for the memory of a message that waits, unless there is other work. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** When shared memory has brought so much, the selector is asked at once: it costs little beside that. */
    private static final long BYTES_PER_SELECT = 128 * 1024;

    /** So often in a row a poll that had something to deliver does not look at the connections. */
    private static final int MOST_UNLOOKED = 2;

    /** Whether the thread waits, runs, or runs and was told not to wait. */
    private enum Wake {
        RUNNING,
        WAITING,
        SIGNALLED
    }

    final IwarpConfig config;
    final IwarpHost host;
    final CompletionQueue completions = new CompletionQueue();
    final Timers timers;
    final StagTable stags;
    final LocalMemory memory;
    final CRC32C crc = new CRC32C();
    final StreamErrorLog log = new StreamErrorLog();
    final IwarpCounters counters = new IwarpCounters();
    final ReceiveStagingPool staging;
    final ReceiveStagingPool wholeStaging;
    final FpduBatchPool batches;
    final FpduBatchPool markedBatches;
    final InterfaceMtuCache mtu = new InterfaceMtuCache();
    final SharedMemoryNegotiation sharedWire;

    private final DeviceCapabilities capabilities;
    private final Selector selector;
    private final Consumer<SelectionKey> onReady = this::ready;
    private final AtomicReference<Wake> wake = new AtomicReference<>(Wake.RUNNING);
    private final Set<IwarpStream> streams = new LinkedHashSet<>();
    private final Set<IwarpQueuePair> queuePairs = new LinkedHashSet<>();
    private final Set<AutoCloseable> startups = new LinkedHashSet<>();
    private final Set<LingeringClose> lingers = new LinkedHashSet<>();
    private final ArrayDeque<IwarpStream> broken = new ArrayDeque<>();
    private final BusyPollSet hot = new BusyPollSet();
    private final PolledSharedRings awake = new PolledSharedRings();

    /** Listeners that accept nobody until there is room. */
    private final Set<IwarpListener> fullListeners = new LinkedHashSet<>();

    /** FPDUs that have come in part. */
    final StallWatch frames;

    /** Messages of which some segments have come. */
    final StallWatch messages;

    /** Streams with a message that waits for memory. */
    private final Set<IwarpStream> held = new LinkedHashSet<>();

    private long moved;

    private int unlooked;
    private boolean closed;

    IwarpContext(IwarpConfig config) throws IOException {
        this(config, DirectMemory.jvm());
    }

    /** @param budget of all memory that streams are sent from and received into */
    IwarpContext(IwarpConfig config, DirectMemory budget) throws IOException {
        this(config, IwarpHost.SYSTEM, budget, new SharedMemoryNegotiation(config));
    }

    IwarpContext(IwarpConfig config, SharedMemoryNegotiation sharedWire) throws IOException {
        this(config, IwarpHost.SYSTEM, DirectMemory.jvm(), sharedWire);
    }

    IwarpContext(IwarpConfig config, IwarpHost host) throws IOException {
        this(config, host, DirectMemory.jvm(), new SharedMemoryNegotiation(config));
    }

    private IwarpContext(
            IwarpConfig config,
            IwarpHost host,
            DirectMemory budget,
            SharedMemoryNegotiation sharedWire)
            throws IOException {
        this.config = config;
        this.host = host;
        this.timers = new Timers(host);
        this.staging = ReceiveStagingPool.plain(budget);
        this.wholeStaging = ReceiveStagingPool.whole(budget);
        this.batches = FpduBatchPool.plain(budget);
        this.markedBatches = FpduBatchPool.marked(budget);
        this.capabilities =
                DeviceCapabilities.builder()
                        .maxScatterGather(SendQueue.MAX_RANGES)
                        .maxReadRanges(SendQueue.MAX_RANGES)
                        .maxReadDepth(MAX_READ_DEPTH)
                        .maxPrivateData(config.mpa().maxPrivateData(config.mpaRevision() >= 2))
                        .privateDataOnAccept(true)
                        .exactExposure(true)
                        .cheapRegistration(true)
                        .sendWithInvalidate(true)
                        .remoteInvalidation(true)
                        .rejectWithData(true)
                        .disconnectCause(true)
                        .keyPerConnection(true)
                        .ipv6(true)
                        .receivesWithoutMemory(true)
                        .exposesWithoutMemory(true)
                        .keepAlive(KeepAlive.isAvailable())
                        .build();
        this.stags = new StagTable(config.maxExposures());
        this.memory = new LocalMemory(stags, this::detachAll);
        this.frames =
                new StallWatch(timers, streams, IwarpStream::lookAtFrame, config.frameTimeout());
        this.messages =
                new StallWatch(
                        timers, streams, IwarpStream::lookAtMessage, config.messageTimeout());
        this.selector = host.sockets().openSelector();
        this.sharedWire = sharedWire;
    }

    @Override
    public DeviceCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public String toString() {
        return "the software RNIC: iWARP over TCP, at all addresses of this machine";
    }

    /** {@return what this context has counted} */
    public IwarpCounters counters() {
        return counters;
    }

    @Override
    public long value(DeviceCounter counter) {
        return counters.value(counter);
    }

    @Override
    public long nanoTime() {
        return host.nanoTime();
    }

    @Override
    public int poll(int budget) {
        int delivered = completions.deliver(budget);
        resumeListeners();
        if (closed) {
            return delivered;
        }
        if (delivered > 0 && unlooked < MOST_UNLOOKED) {
            // It was seen a moment ago that there is no more, at the cost of a system call.
            unlooked++;
            return delivered;
        }
        unlooked = 0;
        moved = 0;
        timers.expire();
        while (!broken.isEmpty()) {
            broken.poll().resolveBroken();
        }
        if (!held.isEmpty()) {
            retryHeld();
        }
        pollConnections();
        delivered += completions.deliver(budget - delivered);
        return (int) Math.min(delivered + moved, Integer.MAX_VALUE);
    }

    /**
     * Accepts again where there is room again. Asked in each poll, and before this thread blocks: what is made room for
     * by this thread itself, such as by a time-out, wakes nobody.
     */
    private void resumeListeners() {
        if (fullListeners.isEmpty()) {
            return;
        }
        for (Iterator<IwarpListener> each = fullListeners.iterator(); each.hasNext(); ) {
            IwarpListener listener = each.next();
            if (listener.hasRoom()) {
                each.remove();
                listener.resume();
            }
        }
    }

    /** Looks at the connections that are busy, and asks the selector for all others when it is time to. */
    private void pollConnections() {
        boolean isLooked = awake.poll();
        boolean isDue = !isLooked || !hot.isEmpty() || moved >= BYTES_PER_SELECT;
        if (!hot.poll() && isDue) {
            select();
        }
    }

    @Override
    public void await(long nanos) throws IOException {
        if (nanos == 0 || !completions.isEmpty() || !broken.isEmpty()) {
            return;
        }
        resumeListeners();
        long limit = nanos < 0 ? Long.MAX_VALUE : nanos;
        if (!timers.isEmpty()) {
            limit = Math.min(limit, timers.nanosLeft());
        }
        if (!held.isEmpty()) {
            limit = Math.min(limit, RETRY_NANOS);
        }
        if (limit <= 0) {
            return;
        }
        if (wake.compareAndSet(Wake.RUNNING, Wake.WAITING)) {
            // The selector counts milliseconds: rounded up, because waking too early would make the
            // caller spin.
            long millis =
                    limit == Long.MAX_VALUE
                            ? 0
                            : Math.max(1, TimeUnit.NANOSECONDS.toMillis(limit + 999_999));
            try {
                if (awake.sleep()) {
                    selector.select(onReady, millis);
                }
            } finally {
                wake.set(Wake.RUNNING);
            }
        } else {
            wake.set(Wake.RUNNING);
        }
    }

    private void select() {
        try {
            selector.selectNow(onReady);
        } catch (IOException e) {
            log.warn("Selecting of {} failed: {}", this, e);
        }
    }

    @Override
    public void wakeup() {
        if (wake.get() != Wake.SIGNALLED && wake.getAndSet(Wake.SIGNALLED) == Wake.WAITING) {
            selector.wakeup();
        }
    }

    private void ready(SelectionKey key) {
        SelectionKeyHandler socket = (SelectionKeyHandler) key.attachment();
        try {
            socket.ready(key);
        } catch (CancelledKeyException e) {
            // Another socket of the same round has ended this one.
            LOGGER.trace("A key was cancelled meanwhile", e);
        } catch (IOException | RuntimeException e) {
            socket.failed(e);
        } catch (OutOfMemoryError e) {
            socket.failed(noMemory(e));
        }
    }

    /** What a connection ends with that asked for memory when there was none. No other connection is concerned. */
    static IOException noMemory(OutOfMemoryError e) {
        return new IOException("No memory is left: " + e.getMessage(), e);
    }

    SelectionKey register(SelectableChannel channel, int operations, SelectionKeyHandler socket)
            throws IOException {
        return channel.register(selector, operations, socket);
    }

    /** The key of a channel that is registered here already, or {@code null}. */
    SelectionKey keyOf(SelectableChannel channel) {
        return channel.keyFor(selector);
    }

    /** A closed channel keeps its descriptor, and a listener its port, until a selection has dropped its key. */
    void letGo() {
        try {
            selector.selectNow(key -> {}); // what is ready stays so
        } catch (IOException e) {
            LOGGER.debug("Letting go of closed channels failed", e);
        }
    }

    void moved(long bytes) {
        moved += bytes;
    }

    void heat(TcpByteTransport carrier) {
        hot.add(carrier);
    }

    void cool(TcpByteTransport carrier) {
        hot.remove(carrier);
    }

    /** How many connections polling looks at in shared memory; of all others it is told. */
    int awakeRings() {
        return awake.count();
    }

    /** The carrier of a connection: TCP, unless there is memory that both ends have mapped. */
    ByteTransport carrier(SocketChannel channel, SelectionKey key, SharedSegment shared) {
        if (shared == null) {
            return new TcpByteTransport(this, channel, key);
        }
        counters.connectionsShared++;
        LOGGER.debug("{} goes by shared memory", channel);
        return new SharedMemoryByteTransport(awake, channel, key, shared);
    }

    void broken(IwarpStream stream) {
        broken.add(stream);
    }

    /** A message of that stream waits for memory. */
    void hold(IwarpStream stream) {
        held.add(stream);
    }

    private void retryHeld() {
        for (IwarpStream stream : List.copyOf(held)) {
            if (!stream.retryHeld()) {
                held.remove(stream);
            }
        }
    }

    void add(IwarpStream stream) {
        streams.add(stream);
        counters.connectionsOpened++;
    }

    void remove(IwarpStream stream) {
        if (streams.remove(stream)) {
            counters.connectionsEnded++;
        }
        held.remove(stream);
    }

    /** Has {@link IwarpListener#resume()} called once there is room. */
    void full(IwarpListener listener) {
        fullListeners.add(listener);
    }

    void remove(IwarpListener listener) {
        fullListeners.remove(listener);
        removeStartup(listener);
    }

    void addStartup(AutoCloseable startup) {
        startups.add(startup);
    }

    void removeStartup(AutoCloseable startup) {
        startups.remove(startup);
    }

    void remove(IwarpQueuePair queuePair) {
        queuePairs.remove(queuePair);
    }

    private void detachAll() {
        for (IwarpStream stream : streams) {
            stream.detach();
        }
    }

    @Override
    public MemoryRegion register(ByteBuffer bytes, long address) {
        return memory.register(bytes, address);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        return track(new IwarpQueuePair(this, size, handler, null));
    }

    @Override
    public QueuePair createQueuePair(
            ConnectionRequest request, QueuePairConfig size, QueuePairHandler handler)
            throws IOException {
        if (!(request instanceof IwarpConnectionRequest mine)) {
            throw new IllegalArgumentException(
                    "Connection request is of another provider ("
                            + request
                            + "); use the context of its own provider");
        }
        mine.take(this);
        try {
            return track(new IwarpQueuePair(this, size, handler, mine));
        } catch (RuntimeException | OutOfMemoryError e) {
            Sockets.close(mine.channel());
            throw e;
        }
    }

    private IwarpQueuePair track(IwarpQueuePair queuePair) {
        queuePairs.add(queuePair);
        return queuePair;
    }

    @Override
    public Listener listen(InetSocketAddress local, int backlog, ListenerHandler handler)
            throws IOException {
        return new IwarpListener(this, local, backlog, handler);
    }

    void add(LingeringClose linger) {
        lingers.add(linger);
    }

    void remove(LingeringClose linger) {
        lingers.remove(linger);
    }

    @Override
    public boolean isLingering() {
        return !lingers.isEmpty();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        List.copyOf(queuePairs).forEach(IwarpQueuePair::close);
        for (AutoCloseable startup : new ArrayList<>(startups)) {
            try {
                startup.close();
            } catch (Exception e) {
                LOGGER.debug("Closing {} failed", startup, e);
            }
        }
        List.copyOf(lingers).forEach(LingeringClose::close);
        staging.close();
        wholeStaging.close();
        batches.close();
        markedBatches.close();
        try {
            letGo();
            selector.close();
        } catch (IOException e) {
            LOGGER.debug("Closing the selector failed", e);
        }
    }
}
