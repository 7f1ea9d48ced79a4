// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;

/**
 * One end of a connection: how it begins and ends.
 *
 * <p>An end, whoever wants it, goes the same way: the connection manager breaks the queue pair, the device flushes what
 * is posted, and when the last completion is delivered the end is reported. The connection manager does not hear of a
 * queue pair that breaks by itself, so the first completion in error is such an end too.
 */
final class HardwareQueuePair implements QueuePair, CmTarget, WindowBinder {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HardwareQueuePair.class);

    private static final String HANDLER_FAILED = "A queue pair handler failed";

    private static final byte[] NO_DATA = {};

    /** How long the device may take to flush what is posted, before the queue pair is taken from it. */
    private static final long FLUSH_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** How long the device may take for what takes microseconds. */
    private static final long UNBIND_NANOS = TimeUnit.SECONDS.toNanos(1);

    private enum State {
        IDLE,
        CONNECTING,
        REQUESTED,
        ACCEPTING,
        OPEN,
        /** The user wants the end; what the device has is sent first. */
        DRAINING,
        /** The queue pair is broken; its completions are awaited. */
        FLUSHING,
        ENDED,
        CLOSED
    }

    private final HardwareContext context;
    private final QueuePairConfig size;
    private final int serial;
    private final QueuePairHandler handler;
    private final PostedSends sends;
    private final PostedReceives receives;
    private final ExposureTable exposures;

    private State state;
    private NativeId id;
    private NativeQueuePair queuePair;
    private ActiveConnect connect;
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private boolean hasGathered;
    private Throwable cause;

    /** The request of a passive end. */
    private final HardwareConnectionRequest request;

    private int outboundReads;

    /**
     * @param serial never used before in this context
     * @param request that of a passive end, or {@code null}
     */
    HardwareQueuePair(
            HardwareContext context,
            QueuePairConfig size,
            int serial,
            QueuePairHandler handler,
            HardwareConnectionRequest request) {
        this.context = context;
        this.size = size;
        this.serial = serial;
        this.handler = Objects.requireNonNull(handler, "handler");
        this.sends =
                new PostedSends(
                        context.device()::address,
                        WorkId.sends(serial),
                        size.sendDepth(),
                        context.binds(size),
                        context.capabilities().maxScatterGather(),
                        context.capabilities().maxReadRanges(),
                        context::readSinks);
        this.receives =
                new PostedReceives(
                        context.device()::address, WorkId.receives(serial), size.receiveDepth());
        this.exposures = new ExposureTable(context.registrations(), context.windows(), this);
        this.request = request;
        this.outboundReads = size.outboundReads();
        if (request == null) {
            state = State.IDLE;
        } else {
            state = State.REQUESTED;
            id = request.id();
            local = request.localAddress();
            remote = request.remoteAddress();
        }
    }

    int serial() {
        return serial;
    }

    QueuePairConfig size() {
        return size;
    }

    // ------------------------------------------------------------------ beginning

    /** Makes the device's queue pair, which an identifier can have as soon as it is bound to a device. */
    void createNative() throws IOException {
        NativeError.explain(
                () ->
                        queuePair =
                                id.createQueuePair(
                                        context.device(),
                                        Math.max(1, size.sendDepth() + context.binds(size)),
                                        Math.max(1, size.receiveDepth()),
                                        context.capabilities().maxScatterGather()),
                reason ->
                        new IOException(
                                "The device gives no queue pair for "
                                        + size.sendDepth()
                                        + " sends and "
                                        + size.receiveDepth()
                                        + " receives: "
                                        + reason
                                        + "; try smaller SEND_DEPTH and RECEIVE_DEPTH, fewer"
                                        + " connections, or a higher RLIMIT_MEMLOCK (here "
                                        + RegistrationFailure.limit()
                                        + ')'));
    }

    private void require(State expected, String call) {
        if (state != expected) {
            throw new IllegalStateException(call + " was called on a queue pair that is " + state);
        }
    }

    private void requireCarried(byte[] privateData) {
        int most = context.capabilities().maxPrivateData();
        if (privateData.length > most) {
            throw new IllegalArgumentException(
                    "Private data has "
                            + privateData.length
                            + " bytes, but "
                            + context.device()
                            + " carries "
                            + most
                            + "; see maxPrivateData");
        }
    }

    @Override
    public void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        require(State.IDLE, "connect");
        requireCarried(privateData);
        state = State.CONNECTING;
        remote = peer;
        try {
            InetSocketAddress wanted = context.device().connectFrom(from, peer);
            id = context.device().newId();
            id.target(this);
            NativeError.explain(
                    () -> id.bind(wanted),
                    reason ->
                            new BindException(
                                    "Cannot connect from "
                                            + wanted
                                            + ": "
                                            + reason
                                            + "; the port has to be free, and the address one of "
                                            + context.device()));
            if (!id.isOn(context.device())) {
                throw new IOException(
                        "The local address " + from + " is not one of " + context.device());
            }
            createNative();
            receives.post(queuePair);
            connect =
                    new ActiveConnect(
                            id,
                            peer,
                            context.config().resolveMillis(),
                            new ConnectionParameters(
                                    privateData.clone(),
                                    size.inboundReads(),
                                    size.outboundReads()));
            connect.start();
        } catch (IOException e) {
            connectFailed(e);
        }
    }

    @Override
    public void accept(byte[] privateData) {
        require(State.REQUESTED, "accept");
        requireCarried(privateData);
        state = State.ACCEPTING;
        int inbound = Math.min(size.inboundReads(), request.event().inboundReads());
        outboundReads = Math.min(size.outboundReads(), request.event().outboundReads());
        try {
            receives.post(queuePair);
            NativeError.explain(
                    () ->
                            id.accept(
                                    new ConnectionParameters(
                                            privateData.clone(), inbound, outboundReads)),
                    reason ->
                            new ConnectException(
                                    "The connection from "
                                            + remote
                                            + " could not be accepted: "
                                            + reason
                                            + "; most likely the peer has given up"));
        } catch (IOException e) {
            connectFailed(e);
        }
    }

    /** From another event loop: that of the listener, which had the identifier before. */
    void happenedElsewhere(CmEvent event) {
        context.later(() -> happened(event));
    }

    @Override
    public void happened(CmEvent event) {
        switch (state) {
            case CONNECTING -> proceed(event);
            case ACCEPTING -> {
                if (event.type() == CmEvent.Type.ESTABLISHED) {
                    established(request.event().privateData());
                } else if (ActiveConnect.failure(event, remote) != null) {
                    failConnect(ActiveConnect.failure(event, remote));
                }
            }
            case OPEN, DRAINING, FLUSHING -> {
                boolean isGone = event.type() == CmEvent.Type.DEVICE_REMOVAL;
                if (isGone && cause == null) {
                    cause = ActiveConnect.failure(event, remote);
                }
                boolean isEnd = isGone || event.type() == CmEvent.Type.DISCONNECTED;
                if (isEnd && state != State.FLUSHING) {
                    flush();
                }
                if (isGone) {
                    context.later(this::flushOverdue); // what is in the queue already comes before
                }
            }
            default -> logger.trace("{} in state {}", event, state);
        }
    }

    @Override
    public void broken(String what) {
        if (state == State.OPEN || state == State.DRAINING) {
            if (cause == null) {
                cause =
                        new IOException(
                                "The device has broken the connection with "
                                        + remote
                                        + ": "
                                        + what);
            }
            flush();
        }
    }

    private void proceed(CmEvent event) {
        try {
            if (connect.proceed(event)) {
                outboundReads = Math.min(size.outboundReads(), event.outboundReads());
                established(event.privateData());
            }
        } catch (IOException e) {
            failConnect(e);
        }
    }

    private void established(byte[] privateData) {
        state = State.OPEN;
        try {
            local = id.localAddress();
            remote = id.remoteAddress();
        } catch (IOException e) {
            logger.debug("The addresses of a connection are not known", e);
        }
        call(() -> handler.connected(privateData));
        if (state == State.OPEN && cause != null) {
            flush(); // its receives could not be posted
        } else if (state == State.OPEN) {
            doorbell();
        }
    }

    /** From inside a call of the user, who is told by the next poll. */
    private void connectFailed(IOException failure) {
        state = State.ENDED;
        context.later(
                () -> {
                    if (state == State.ENDED) {
                        call(() -> handler.connectFailed(failure));
                    }
                });
    }

    private void failConnect(IOException failure) {
        state = State.ENDED;
        call(() -> handler.connectFailed(failure));
    }

    private void call(Runnable report) {
        try {
            report.run();
        } catch (RuntimeException e) {
            logger.warn(HANDLER_FAILED, e);
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    // ------------------------------------------------------------------ work

    @Override
    public void postReceive(long number, long address, int length, int localKey) {
        receives.add(number, address, length, localKey);
        if (!hasGathered) {
            hasGathered = true;
            context.hasReceives(this);
        }
    }

    /** Hands gathered receives to the device; before anything is sent that tells the peer of them. */
    void postGathered() {
        hasGathered = false;
        if (state == State.ENDED) {
            flushReceives();
            return;
        }
        // Without a device's queue pair connect posts them; to one that is broken nothing goes any
        // more, since soft-iWARP and soft-RoCE would never complete it.
        if (queuePair == null || state == State.FLUSHING || state == State.CLOSED) {
            return;
        }
        try {
            receives.post(queuePair);
        } catch (IOException e) {
            broken("Receives cannot be posted", e);
        }
    }

    @Override
    public void send(long number, int flags) {
        sends.open(number, Codes.SEND, flags, 0, 0);
    }

    @Override
    public void sendWithInvalidate(long number, int flags, int key) {
        sends.open(number, Codes.SEND_WITH_INVALIDATE, flags, 0, key);
    }

    @Override
    public void write(long number, int flags, long address, int key) {
        sends.open(number, Codes.WRITE, flags, address, key);
    }

    @Override
    public void read(long number, int flags, long address, int key) {
        sends.open(number, Codes.READ, flags, address, key);
    }

    @Override
    public void gather(long address, int length, int localKey) {
        sends.gather(address, length, localKey);
    }

    @Override
    public void doorbell() {
        if (state == State.OPEN) {
            if (hasGathered) {
                postGathered();
            }
            postSends();
        } else if (state == State.ENDED) {
            context.later(this::flushSends);
        }
    }

    private void postSends() {
        try {
            sends.post(queuePair);
        } catch (IOException e) {
            broken("Work requests cannot be posted", e);
        }
    }

    /** Some work requests may be posted, and nobody can tell which: the connection ends. */
    private void broken(String what, IOException e) {
        cause = new IOException(what + ": " + NativeError.reason(e), e);
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    /**
     * The device has completed a work request.
     *
     * @param status an {@code ibv_wc_status}
     */
    void completed(long workId, int status, int length, int invalidatedKey) {
        if (state == State.CONNECTING || state == State.ACCEPTING) {
            if (status == Codes.FLUSHED) {
                return; // the connection manager says what has happened
            }
            hearWhatWasOvertaken();
        }
        if (state == State.ENDED || state == State.CLOSED) {
            return;
        }
        if (status != Codes.SUCCESS) {
            failed(status);
        }
        if (WorkId.isReceive(workId)) {
            int position = WorkId.position(workId, receives.head());
            if (invalidatedKey != 0) {
                exposures.invalidated(invalidatedKey);
            }
            if (receives.complete(position)) {
                report(receives.id(position), status, length, invalidatedKey);
            }
        } else {
            sends.complete(WorkId.position(workId, sends.head()), status);
            reportSends();
        }
        proceedToEnd();
    }

    /** A message can overtake the event that the connection exists, also one that is wrong. */
    private void hearWhatWasOvertaken() {
        if (state == State.CONNECTING) {
            context.deliverEvents(); // it has the peer's private data
        }
        if (state == State.CONNECTING || state == State.ACCEPTING) {
            established(request == null ? NO_DATA : request.event().privateData());
        }
    }

    private void reportSends() {
        while (sends.isHeadComplete()) {
            int position = sends.head();
            long number = sends.id(position);
            boolean isSignaled = sends.isSignaled(position);
            boolean isOwn = sends.isOwn(position);
            int status = sends.removeHead();
            if (!isOwn && (isSignaled || status != Codes.SUCCESS)) {
                report(number, status, 0, 0);
            }
        }
    }

    /** Not by {@link #call}, which would need an object for each. */
    private void report(long number, int status, int length, int invalidatedKey) {
        try {
            handler.completed(number, Codes.status(status), length, invalidatedKey);
        } catch (RuntimeException e) {
            logger.warn(HANDLER_FAILED, e);
        }
    }

    /** A queue pair with a work request in error is broken. */
    private void failed(int status) {
        if (cause == null && state == State.OPEN && status != Codes.FLUSHED) {
            cause =
                    new IOException(
                            "A work request of the connection with "
                                    + remote
                                    + " failed: "
                                    + Codes.statusName(status));
        }
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    // ------------------------------------------------------------------ memory

    @Override
    public int expose(MemoryRegion region, long address, int length, int access) {
        if (!(region instanceof HardwareMemoryRegion mine) || !mine.isOf(context.registrations())) {
            throw new IllegalArgumentException(
                    "The region is not registered with the context of this queue pair");
        }
        if (state == State.CLOSED) {
            throw new IllegalStateException("expose was called on a queue pair that is CLOSED");
        }
        return exposures.expose(mine, address, length, access);
    }

    @Override
    public long exposedOffset(int key) {
        return exposures.offset(key);
    }

    @Override
    public boolean isExposed(int key) {
        return exposures.contains(key);
    }

    @Override
    public void invalidate(int key) {
        exposures.invalidate(key);
    }

    @Override
    public boolean canBind() {
        return state == State.OPEN;
    }

    @Override
    public void bind(
            NativeWindow window, NativeRegion registration, long address, int length, int access) {
        if (!sends.hasOwnRoom()) {
            throw new IllegalStateException(
                    "Too many memory windows are bound at a time for a send queue of "
                            + size.sendDepth()
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
        sends.bind(
                window.pointer(),
                window.nextKey(),
                registration.pointer(),
                address,
                length,
                access);
        postSends();
        window.bound();
    }

    /** Where the device has nothing else to do for this queue pair: else it would be behind the others. */
    @Override
    public boolean unbind(NativeWindow window) {
        if (state != State.OPEN || !sends.isEmpty()) {
            return false;
        }
        sends.invalidate(window.key());
        long workId = sends.lastWorkId();
        postSends();
        if (state != State.OPEN) {
            return false;
        }
        int status;
        try {
            status = context.completionQueue().await(workId, UNBIND_NANOS);
        } catch (IOException e) {
            broken("A memory window cannot be invalidated", e);
            return false;
        }
        if (status == CompletionQueue.NONE) {
            broken("A memory window cannot be invalidated", new IOException("the device is late"));
            return false;
        }
        sends.complete(sends.head(), status);
        reportSends();
        if (status != Codes.SUCCESS) {
            failed(status);
        }
        return status == Codes.SUCCESS;
    }

    /**
     * Where the library does not tell what was agreed, what was asked for: the device lets further ones wait in
     * any case.
     */
    @Override
    public int outboundReads() {
        return outboundReads;
    }

    // ------------------------------------------------------------------ end

    @Override
    public void disconnect() {
        if (state == State.OPEN) {
            state = State.DRAINING;
            proceedToEnd();
        } else if (state == State.CONNECTING || state == State.ACCEPTING) {
            connectFailed(
                    new IOException(
                            "The connection to " + remote + " was given up before it was made"));
        }
    }

    private void proceedToEnd() {
        if (state == State.DRAINING && sends.isIdle()) {
            flush();
        } else if (state == State.FLUSHING && sends.isIdle() && receives.isIdle()) {
            end();
        }
    }

    /** Breaks the queue pair, so that the device flushes it. */
    private void flush() {
        state = State.FLUSHING;
        disconnectNative();
        context.deadlines().add(FLUSH_NANOS, this);
        proceedToEnd();
    }

    private void disconnectNative() {
        try {
            id.disconnect();
        } catch (IOException e) {
            logger.debug("Disconnecting failed", e);
        }
    }

    /** The device has had its time. Without its queue pair it touches no memory any more. */
    void flushOverdue() {
        if (state == State.FLUSHING) {
            destroyNative();
            end();
        }
    }

    /** The end is reported by the next poll: this may be inside a call of the user. */
    private void end() {
        state = State.ENDED;
        context.later(this::reportEnd);
    }

    private void reportEnd() {
        if (state == State.ENDED) {
            flushSends();
            flushReceives();
        }
        if (state == State.ENDED) {
            call(() -> handler.disconnected(cause));
        }
    }

    /** What the device never had, and what it did not give back. */
    private void flushSends() {
        while (state == State.ENDED && !sends.isEmpty()) {
            long number = sends.id(sends.head());
            boolean isOwn = sends.isOwn(sends.head());
            sends.removeHead();
            if (!isOwn) {
                report(number, Codes.FLUSHED, 0, 0);
            }
        }
    }

    private void flushReceives() {
        while (state == State.ENDED && !receives.isEmpty()) {
            int position = receives.head();
            receives.complete(position);
            report(receives.id(position), Codes.FLUSHED, 0, 0);
        }
    }

    private void destroyNative() {
        exposures.clearWindows();
        NativeQueuePair gone = queuePair;
        queuePair = null;
        if (gone != null) {
            try {
                gone.destroy();
            } catch (IOException e) {
                logger.debug("A queue pair could not be destroyed", e);
            }
        }
    }

    @Override
    public void close() {
        if (state == State.CLOSED) {
            return;
        }
        if (state == State.OPEN || state == State.DRAINING) {
            disconnectNative();
        }
        state = State.CLOSED;
        destroyNative();
        // Its flushes are not awaited: most devices leave them in the queue.
        int left = sends.inDevice() + receives.inDevice();
        sends.close();
        exposures.clear();
        if (id != null) {
            id.destroy();
        }
        context.remove(this, left);
    }
}
