// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.FailureLog;
import org.rpcrdma.verbs.QueuePairHandler;

/**
 * State machine of one end of a connection, from start-up to the last completion.
 *
 * <p>An end, whoever wants it, goes the same way: the connection manager breaks the queue pair, the device flushes what
 * is posted, and when the last completion is delivered the end is reported. The connection manager does not hear of a
 * queue pair that breaks by itself, so the first completion in error is such an end too.
 */
final class HardwareConnectionStateMachine implements CmEventHandler {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HardwareConnectionStateMachine.class);

    /** Time that the device may take to flush posted work, before the queue pair is destroyed. */
    private static final long FLUSH_NANOS = TimeUnit.SECONDS.toNanos(2);

    private enum State {
        IDLE,
        CONNECTING,
        REQUESTED,
        ACCEPTING,
        OPEN,
        /** The user has disconnected; posted work is sent first. */
        DRAINING,
        /** The queue pair is broken; its completions are awaited. */
        FLUSHING,
        ENDED,
        CLOSED
    }

    /** Owner of the work queues. */
    interface Owner {

        /** Work opened before may be posted. */
        void opened();

        /** The device is about to lose the queue pair. */
        void queuePairEnds();
    }

    private final HardwareContextResources loop;
    private final QueuePairHandler handler;
    private final NativeEndpointResources end;
    private final SendAndReceiveQueues work;
    private final Owner owner;
    private State state;
    private Throwable cause;

    /** @param isRequested whether a peer waits for an answer */
    HardwareConnectionStateMachine(
            HardwareContextResources loop,
            QueuePairHandler handler,
            NativeEndpointResources end,
            SendAndReceiveQueues work,
            Owner owner,
            boolean isRequested) {
        this.loop = loop;
        this.handler = handler;
        this.end = end;
        this.work = work;
        this.owner = owner;
        state = isRequested ? State.REQUESTED : State.IDLE;
    }

    /** Whether the connection is established and not being ended. */
    boolean isOpen() {
        return state == State.OPEN;
    }

    /** Whether its end, or that there is none, is reported or about to be. */
    boolean isEnded() {
        return state == State.ENDED;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    /**
     * Whether receives may be posted: to a queue pair that is broken nothing goes any more, since soft-iWARP and
     * soft-RoCE would never complete it.
     */
    boolean takesReceives() {
        return end.queuePair() != null && state != State.FLUSHING && state != State.CLOSED;
    }

    // ------------------------------------------------------------------ beginning

    private void require(State expected, String call) {
        if (state != expected) {
            throw new IllegalStateException(call + " was called on a queue pair that is " + state);
        }
    }

    void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        require(State.IDLE, "connect");
        end.requireCarried(privateData);
        state = State.CONNECTING;
        try {
            end.open(peer, from, this);
            work.postReceives(end.queuePair());
            end.connect(privateData);
        } catch (IOException e) {
            connectFailed(e);
        }
    }

    void accept(byte[] privateData) {
        require(State.REQUESTED, "accept");
        end.requireCarried(privateData);
        state = State.ACCEPTING;
        try {
            work.postReceives(end.queuePair());
            end.accept(privateData);
        } catch (IOException e) {
            connectFailed(e);
        }
    }

    /** From another event loop: that of the listener, which had the identifier before. */
    void happenedElsewhere(CmEvent event) {
        loop.later(() -> happened(event));
    }

    @Override
    public void happened(CmEvent event) {
        switch (state) {
            case CONNECTING -> proceed(event);
            case ACCEPTING -> {
                if (event.type() == CmEvent.Type.ESTABLISHED) {
                    established(end.requestData());
                } else if (ActiveConnect.failure(event, end.remote()) != null) {
                    failConnect(ActiveConnect.failure(event, end.remote()));
                }
            }
            case OPEN, DRAINING, FLUSHING -> {
                boolean isGone = event.type() == CmEvent.Type.DEVICE_REMOVAL;
                if (isGone && cause == null) {
                    cause = ActiveConnect.failure(event, end.remote());
                }
                boolean isEnd = isGone || event.type() == CmEvent.Type.DISCONNECTED;
                if (isEnd && state != State.FLUSHING) {
                    flush();
                }
                if (isGone) {
                    loop.later(this::flushOverdue); // after the completions already in the queue
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
                                        + end.remote()
                                        + ": "
                                        + what);
            }
            flush();
        }
    }

    private void proceed(CmEvent event) {
        try {
            if (end.proceed(event)) {
                established(event.privateData());
            }
        } catch (IOException e) {
            failConnect(e);
        }
    }

    private void established(byte[] privateData) {
        state = State.OPEN;
        end.established();
        call(() -> handler.connected(privateData));
        if (state == State.OPEN && cause != null) {
            flush(); // its receives could not be posted
        } else if (state == State.OPEN) {
            owner.opened();
        }
    }

    /** Within a call of the user: reported by the next poll. */
    private void connectFailed(IOException failure) {
        state = State.ENDED;
        loop.later(
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
        } catch (Throwable t) {
            handlerFailed(t);
        }
    }

    // ------------------------------------------------------------------ work

    /**
     * A message can overtake the event that the connection exists, also one that is wrong.
     *
     * @param status of a work request that the device has completed
     * @return whether anybody minds
     */
    boolean acceptCompletion(int status) {
        if (state == State.CONNECTING || state == State.ACCEPTING) {
            if (status == VerbsConstants.FLUSHED) {
                return false; // the connection manager reports the cause
            }
            hearWhatWasOvertaken();
        }
        return state != State.ENDED && state != State.CLOSED;
    }

    private void hearWhatWasOvertaken() {
        if (state == State.CONNECTING) {
            loop.deliverEvents(); // the pending event has the peer's private data
        }
        if (state == State.CONNECTING || state == State.ACCEPTING) {
            established(end.requestData());
        }
    }

    /** It is unknown which work requests were posted: the connection ends. */
    void broken(String what, IOException e) {
        cause = new IOException(what + ": " + NativeErrorMessages.reason(e), e);
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    /** Ignores an unused event of the peer. */
    void unexpected(String what) {
        if (cause == null) {
            cause =
                    new IOException(
                            "The peer at " + end.remote() + " sent " + what + ", unexpectedly");
        }
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    /** A queue pair with a work request in error is broken. */
    void failed(int status) {
        if (cause == null && state == State.OPEN && status != VerbsConstants.FLUSHED) {
            cause =
                    new IOException(
                            "A work request of the connection with "
                                    + end.remote()
                                    + " failed: "
                                    + VerbsConstants.statusName(status));
        }
        if (state == State.OPEN || state == State.DRAINING) {
            flush();
        }
    }

    /**
     * A handler has thrown. After an error, such as a lack of heap memory, it is unknown what it has done: the
     * connection ends, and no other one.
     */
    void handlerFailed(Throwable thrown) {
        if (thrown instanceof RuntimeException) {
            FailureLog.warn(logger, "A queue pair handler failed", thrown);
        } else {
            eventLost(thrown);
        }
    }

    /** Something was thrown while an event was delivered. */
    void eventLost(Throwable thrown) {
        FailureLog.warn(logger, "A connection is ended: one of its events is lost", thrown);
        if (state == State.OPEN || state == State.DRAINING) {
            if (cause == null) {
                cause = thrown;
            }
            flush();
        }
    }

    // ------------------------------------------------------------------ end

    void disconnect() {
        if (state == State.OPEN) {
            state = State.DRAINING;
            proceedToEnd();
        } else if (state == State.CONNECTING || state == State.ACCEPTING) {
            connectFailed(
                    new IOException(
                            "The connection to "
                                    + end.remote()
                                    + " was given up before it was made"));
        }
    }

    /** Posted work has completed: continues an end that waits for it. */
    void proceedToEnd() {
        if (state == State.DRAINING && work.sends().isIdle()) {
            flush();
        } else if (state == State.FLUSHING && work.areIdle()) {
            ended();
        }
    }

    /** Breaks the queue pair, so that the device flushes it. */
    private void flush() {
        state = State.FLUSHING;
        end.disconnect();
        loop.deadlines().add(FLUSH_NANOS, this::flushOverdue);
        proceedToEnd();
    }

    /** The device has had its time. Without its queue pair it touches no memory any more. */
    void flushOverdue() {
        if (state == State.FLUSHING) {
            destroyNative();
            ended();
        }
    }

    /** The end is reported by the next poll: this may be inside a call of the user. */
    private void ended() {
        state = State.ENDED;
        loop.later(this::reportEnd);
    }

    private void reportEnd() {
        if (state == State.ENDED) {
            work.flushSends();
            work.flushReceives();
        }
        if (state == State.ENDED) {
            call(() -> handler.disconnected(cause));
        }
    }

    private void destroyNative() {
        owner.queuePairEnds();
        end.destroyQueuePair();
    }

    /** Nothing is reported any more, and the device touches no memory. */
    void close() {
        if (state == State.OPEN || state == State.DRAINING) {
            end.disconnect();
        }
        state = State.CLOSED;
        destroyNative();
    }
}
