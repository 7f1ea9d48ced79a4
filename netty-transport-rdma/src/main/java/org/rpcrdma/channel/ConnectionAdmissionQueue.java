// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.rpcrdma.channel.admission.AdmissionDecision;
import org.rpcrdma.channel.admission.AdmissionPolicy;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DeviceCapabilities;

/**
 * Connection requests of a server channel that are not passed to its pipeline yet: received ones, those on which the
 * admission policy has yet to decide, and admitted ones. Event loop only.
 */
final class ConnectionAdmissionQueue {

    private static final AdmissionDecision FAILED =
            AdmissionDecision.reject("the admission policy of the server has failed");

    private final Object server;
    private final RdmaServerChannelConfig config;
    private final Supplier<EventLoop> loop;
    private final Supplier<EventLoopDevicePoller> poller;
    private final Runnable onChange;
    private final RateLimitedLogger log = new RateLimitedLogger();
    private final ArrayDeque<ConnectionRequest> received = new ArrayDeque<>();
    private final Set<DefaultAdmissionRequest> undecided = new LinkedHashSet<>();
    private final ArrayDeque<DefaultAdmissionRequest> admitted = new ArrayDeque<>();

    /** Whether a policy is being called. */
    private boolean isExamining;

    /**
     * @param server for logs
     * @param onChange called when a policy has decided later
     */
    ConnectionAdmissionQueue(
            Object server,
            RdmaServerChannelConfig config,
            Supplier<EventLoop> loop,
            Supplier<EventLoopDevicePoller> poller,
            Runnable onChange) {
        this.server = server;
        this.config = config;
        this.loop = loop;
        this.poller = poller;
        this.onChange = onChange;
    }

    void add(ConnectionRequest request) {
        received.add(request);
    }

    /** Whether {@link #next} has something to do. */
    boolean hasNext() {
        return !admitted.isEmpty() || mayExamine();
    }

    private boolean mayExamine() {
        return !received.isEmpty() && undecided.size() < config.getMaxUndecidedRequests();
    }

    /** Examines requests until one is admitted; {@code null} if none is. */
    DefaultAdmissionRequest next() {
        while (admitted.isEmpty() && mayExamine()) {
            examine(received.poll());
        }
        return admitted.poll();
    }

    private void examine(ConnectionRequest request) {
        EventLoop here = loop.get();
        DefaultAdmissionRequest opened = new DefaultAdmissionRequest(request, policies(here));
        AdmissionPolicy policy = config.getAdmissionPolicy();
        undecided.add(opened);
        isExamining = true;
        try {
            policy.decide(opened)
                    .whenComplete((decision, failure) -> decided(here, opened, decision, failure));
        } catch (Throwable t) {
            settle(opened, null, t);
        } finally {
            isExamining = false;
        }
        if (undecided.contains(opened)) {
            int millis = config.getAdmissionTimeoutMillis();
            opened.deadline(
                    here.schedule(() -> timedOut(opened, millis), millis, TimeUnit.MILLISECONDS));
        }
    }

    /** A policy may follow another one at once, but not inside of a call of the user's that completes the first one. */
    private Executor policies(EventLoop here) {
        return task -> {
            if (here.inEventLoop() && isExamining) {
                task.run();
            } else {
                here.execute(task);
            }
        };
    }

    /** Called by any thread. */
    private void decided(
            EventLoop here,
            DefaultAdmissionRequest opened,
            AdmissionDecision decision,
            Throwable cause) {
        if (here.inEventLoop()) {
            settle(opened, decision, cause);
            return;
        }
        try {
            here.execute(() -> settle(opened, decision, cause));
        } catch (RejectedExecutionException e) {
            // The server channel was closed with its event loop, and has refused the peer.
        }
    }

    private void settle(
            DefaultAdmissionRequest opened, AdmissionDecision decision, Throwable cause) {
        if (!undecided.remove(opened)) {
            return; // timed out, or the channel does not listen any more
        }
        opened.decided();
        if (decision == null) {
            refuse(opened, RdmaCounter.ADMISSIONS_FAILED, FAILED, failure(cause));
        } else if (decision.isAccepted()) {
            admitted.add(opened);
        } else {
            refuse(opened, RdmaCounter.ADMISSIONS_REJECTED, decision, decision.reason());
        }
        if (!isExamining) {
            onChange.run();
        }
    }

    private static Throwable failure(Throwable cause) {
        if (cause == null) {
            return new NullPointerException("the admission policy has decided null");
        }
        return cause instanceof CompletionException && cause.getCause() != null
                ? cause.getCause()
                : cause;
    }

    private void timedOut(DefaultAdmissionRequest opened, int millis) {
        if (undecided.remove(opened)) {
            String reason = "the admission policy has not decided within " + millis + " ms";
            refuse(
                    opened,
                    RdmaCounter.ADMISSIONS_TIMED_OUT,
                    AdmissionDecision.reject(reason),
                    reason);
            onChange.run();
        }
    }

    /**
     * @param cause for the log
     */
    private void refuse(
            DefaultAdmissionRequest opened,
            RdmaCounter counter,
            AdmissionDecision decision,
            Object cause) {
        poller.get().count(counter);
        log.warn(server, "the " + opened + " is refused", cause);
        opened.reject(carried(decision.privateData()));
    }

    private byte[] carried(byte[] privateData) {
        DeviceCapabilities device = poller.get().context().capabilities();
        return device.rejectWithData()
                ? Arrays.copyOf(privateData, Math.min(privateData.length, device.maxPrivateData()))
                : DefaultAdmissionRequest.NO_DATA;
    }

    /** The channel does not listen any more. */
    void rejectAll() {
        received.forEach(request -> request.reject(DefaultAdmissionRequest.NO_DATA));
        received.clear();
        for (Iterable<DefaultAdmissionRequest> cases :
                List.of(Set.copyOf(undecided), List.copyOf(admitted))) {
            for (DefaultAdmissionRequest opened : cases) {
                opened.decided();
                opened.reject(DefaultAdmissionRequest.NO_DATA);
            }
        }
        undecided.clear();
        admitted.clear();
    }
}
