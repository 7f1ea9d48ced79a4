// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
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
 * <p>An end, whoever wants it, goes the same way: the connection manager breaks the queue pair, the device flushes what is
 * posted, and when the last completion is delivered the end is reported. The connection manager does not hear of a queue pair
 * that breaks by itself, so the first completion in error is such an end too.
 */
final class DisniQueuePair implements QueuePair, CmTarget {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(DisniQueuePair.class);

    private static final String HANDLER_FAILED = "A queue pair handler failed";

    private static final byte[] NO_DATA = {};

    /** How long the device may take to flush what is posted, before the queue pair is taken from it. */
    private static final long FLUSH_NANOS = TimeUnit.SECONDS.toNanos(2);

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

    private final DisniContext context;
    private final QueuePairConfig size;
    private final int serial;
    private final QueuePairHandler handler;
    private final PostedSends sends;
    private final PostedReceives receives;
    private final ExposureTable exposures;

    private State state;
    private RdmaCmId id;
    private IbvQP queuePair;
    private ActiveConnect connect;
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private boolean hasGathered;
    private Throwable cause;

    /** Whether the peer's answer may still come: librdmacm takes it on the thread of the events, for the queue pair too. */
    private boolean awaitsAnswer;

    /**
     * @param serial never used before in this context
     * @param request the identifier of a passive end, or {@code null}
     */
    DisniQueuePair(
            DisniContext context,
            QueuePairConfig size,
            int serial,
            QueuePairHandler handler,
            RdmaCmId request)
            throws IOException {
        this.context = context;
        this.size = size;
        this.serial = serial;
        this.handler = Objects.requireNonNull(handler, "handler");
        this.sends =
                new PostedSends(
                        context.path, WorkId.sends(serial), size.sendDepth(), context::readSinks);
        this.receives =
                new PostedReceives(context.path, WorkId.receives(serial), size.receiveDepth());
        this.exposures = new ExposureTable(context.registrations);
        this.id = request;
        this.state = request == null ? State.IDLE : State.REQUESTED;
        if (request != null) {
            local = Addresses.local(request);
            remote = Addresses.remote(request);
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
        IbvQPInitAttr attributes = new IbvQPInitAttr();
        attributes.setQp_type(IbvQP.IBV_QPT_RC);
        attributes.setSend_cq(context.queue);
        attributes.setRecv_cq(context.queue);
        attributes.cap().setMax_send_wr(Math.max(1, size.sendDepth()));
        attributes.cap().setMax_recv_wr(Math.max(1, size.receiveDepth()));
        attributes.cap().setMax_send_sge(PostedSends.MAX_RANGES);
        attributes.cap().setMax_recv_sge(1);
        NativeError.explain(
                () -> queuePair = id.createQP(context.domain, attributes),
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
        context.events.target(id, this);
    }

    private void require(State expected, String call) {
        if (state != expected) {
            throw new IllegalStateException(call + " was called on a queue pair that is " + state);
        }
    }

    private static void requireNoData(byte[] privateData) {
        if (privateData.length > 0) {
            throw new IllegalArgumentException(
                    "Private data has "
                            + privateData.length
                            + " bytes, but DiSNI carries none; see maxPrivateData");
        }
    }

    @Override
    public void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        require(State.IDLE, "connect");
        requireNoData(privateData);
        state = State.CONNECTING;
        remote = peer;
        try {
            Addresses.checked(peer);
            id = context.events.newId();
            InetSocketAddress wanted = Addresses.toBind(from, context.device.address);
            NativeError.explain(
                    () -> id.bindAddr(wanted),
                    reason ->
                            new BindException(
                                    "Cannot connect from "
                                            + wanted
                                            + ": "
                                            + reason
                                            + "; the port has to be free, and the address one of"
                                            + " the RDMA device of "
                                            + context.device.address));
            if (!context.device.has(id)) {
                throw new IOException(
                        "The local address "
                                + from
                                + " is not one of the RDMA device of "
                                + context.device.address);
            }
            createNative();
            receives.post(queuePair);
            connect = new ActiveConnect(id, peer, context.config().resolveMillis());
            connect.start();
        } catch (IOException e) {
            connectFailed(e);
        }
    }

    @Override
    public void accept(byte[] privateData) {
        require(State.REQUESTED, "accept");
        requireNoData(privateData);
        state = State.ACCEPTING;
        try {
            receives.post(queuePair);
            awaitsAnswer = true;
            NativeError.explain(
                    () -> id.accept(ActiveConnect.parameters()),
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

    @Override
    public void happened(EventType event, RdmaCmId subject) {
        context.later(() -> deliver(event));
    }

    private void deliver(EventType event) {
        if (!ActiveConnect.isStep(event)) {
            awaitsAnswer = false;
        }
        switch (state) {
            case CONNECTING -> proceed(event);
            case ACCEPTING -> {
                if (event == EventType.RDMA_CM_EVENT_ESTABLISHED) {
                    established();
                } else if (ActiveConnect.failure(event, remote) != null) {
                    failConnect(ActiveConnect.failure(event, remote));
                }
            }
            case OPEN, DRAINING, FLUSHING -> {
                boolean isGone = event == EventType.RDMA_CM_EVENT_DEVICE_REMOVAL;
                if (isGone && cause == null) {
                    cause = ActiveConnect.failure(event, remote);
                }
                boolean isEnd = isGone || event == EventType.RDMA_CM_EVENT_DISCONNECTED;
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

    private void proceed(EventType event) {
        try {
            if (connect.proceed(event)) {
                established();
            } else {
                awaitsAnswer = event == EventType.RDMA_CM_EVENT_ROUTE_RESOLVED;
            }
        } catch (IOException e) {
            failConnect(e);
        }
    }

    private void established() {
        state = State.OPEN;
        try {
            local = Addresses.local(id);
            remote = Addresses.remote(id);
        } catch (IOException e) {
            logger.debug("The addresses of a connection are not known", e);
        }
        call(() -> handler.connected(NO_DATA));
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
        // more,
        // since soft-iWARP and soft-RoCE would never complete it.
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
        sends.open(number, IbvSendWR.IBV_WR_SEND, flags, 0, 0);
    }

    @Override
    public void sendWithInvalidate(long number, int flags, int key) {
        sends.open(number, Opcodes.SEND_WITH_INVALIDATE, flags, 0, key);
    }

    @Override
    public void write(long number, int flags, long address, int key) {
        sends.open(number, IbvSendWR.IBV_WR_RDMA_WRITE, flags, address, key);
    }

    @Override
    public void read(long number, int flags, long address, int key) {
        sends.open(number, IbvSendWR.IBV_WR_RDMA_READ, flags, address, key);
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
            try {
                sends.post(queuePair);
            } catch (IOException e) {
                broken("Work requests cannot be posted", e);
            }
        } else if (state == State.ENDED) {
            context.later(this::flushSends);
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
            if (status == Opcodes.FLUSHED) {
                return; // the connection manager says what has happened
            }
            established(); // a message can overtake the event, also one that is wrong
        }
        if (state == State.ENDED || state == State.CLOSED) {
            return;
        }
        if (status != Opcodes.SUCCESS) {
            failed(status);
        }
        if (WorkId.isReceive(workId)) {
            int position = WorkId.position(workId, receives.head());
            if (receives.complete(position)) {
                report(receives.id(position), status, length, invalidatedKey);
            }
        } else {
            sends.complete(WorkId.position(workId, sends.head()), status);
            reportSends();
        }
        proceedToEnd();
    }

    private void reportSends() {
        while (sends.isHeadComplete()) {
            int position = sends.head();
            long number = sends.id(position);
            boolean isSignaled = sends.isSignaled(position);
            int status = sends.removeHead();
            if (isSignaled || status != Opcodes.SUCCESS) {
                report(number, status, 0, 0);
            }
        }
    }

    /** Not by {@link #call}, which would need an object for each. */
    private void report(long number, int status, int length, int invalidatedKey) {
        try {
            handler.completed(number, Opcodes.status(status), length, invalidatedKey);
        } catch (RuntimeException e) {
            logger.warn(HANDLER_FAILED, e);
        }
    }

    /** A queue pair with a work request in error is broken. */
    private void failed(int status) {
        if (cause == null && state == State.OPEN && status != Opcodes.FLUSHED) {
            cause =
                    new IOException(
                            "A work request of the connection with "
                                    + remote
                                    + " failed: "
                                    + Opcodes.statusName(status));
        }
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    // ------------------------------------------------------------------ memory

    @Override
    public int expose(MemoryRegion region, long address, int length, int access) {
        if (!(region instanceof DisniMemoryRegion mine) || !mine.isOf(context.registrations)) {
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

    /** What was asked for: DiSNI does not tell what was agreed. The device lets further ones wait in any case. */
    @Override
    public int outboundReads() {
        return size.outboundReads();
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
            sends.removeHead();
            report(number, Opcodes.FLUSHED, 0, 0);
        }
    }

    private void flushReceives() {
        while (state == State.ENDED && !receives.isEmpty()) {
            int position = receives.head();
            receives.complete(position);
            report(receives.id(position), Opcodes.FLUSHED, 0, 0);
        }
    }

    private void destroyNative() {
        if (queuePair != null) {
            queuePair = null;
            try {
                id.destroyQP();
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
        if (awaitsAnswer) {
            context.events.betweenEvents(this::destroyNative);
        } else {
            destroyNative();
        }
        // Its flushes are not awaited: most devices leave them in the queue.
        int left = sends.inDevice() + receives.inDevice();
        sends.close();
        exposures.clear();
        if (id != null) {
            context.events.destroy(id);
        }
        context.remove(this, left);
    }
}
