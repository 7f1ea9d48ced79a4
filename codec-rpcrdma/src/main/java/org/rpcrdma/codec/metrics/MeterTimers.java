// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.RpcRdmaCallOutcome;
import org.rpcrdma.codec.RpcRdmaLatencyListener;
import org.rpcrdma.codec.RpcRdmaRole;

/** Records times in one registry. Nothing is allocated for a call whose procedure was called before. */
@SuppressWarnings("EnumOrdinal") // the arrays live and die with the enums' classes
final class MeterTimers implements RpcRdmaLatencyListener {

    private static final int OUTCOMES = RpcRdmaCallOutcome.values().length;

    /** Bounds of the buckets of the timers in each registry. */
    private static final Map<MeterRegistry, List<Duration>> BUCKETS = new WeakHashMap<>();

    /** Those who keep this object must not keep the registry by it. */
    private final WeakReference<MeterRegistry> registry;

    private final Tags common;
    private final Duration[] levels;

    /** By role and outcome, then by procedure. */
    private final Map<String, Timer>[] calls;

    private final Timer creditWait;
    private final Timer connected;
    private final Timer notConnected;

    @SuppressWarnings({"unchecked", "rawtypes"}) // an array of a generic type
    MeterTimers(MeterRegistry registry, Tags common, Duration[] levels) {
        this.registry = new WeakReference<>(registry);
        this.common = common;
        this.levels = levels;
        calls = new Map[RpcRdmaRole.values().length * OUTCOMES];
        for (int i = 0; i < calls.length; i++) {
            calls[i] = new ConcurrentHashMap<>();
        }
        creditWait = timer(registry, RpcRdmaMeterTable.CREDIT_WAIT, Tags.empty());
        connected =
                timer(
                        registry,
                        RpcRdmaMeterTable.CONNECT_DURATION,
                        Tags.of("outcome", "connected"));
        notConnected =
                timer(registry, RpcRdmaMeterTable.CONNECT_DURATION, Tags.of("outcome", "failed"));
    }

    /**
     * Holds the timers of a registry to one set of buckets: Prometheus has one type for all series of a name, a summary
     * or a histogram, and the scrape as a whole fails when there are both.
     *
     * @throws IllegalArgumentException if the registry has timers with other buckets
     */
    static void fixBuckets(MeterRegistry registry, Duration[] levels) {
        List<Duration> wanted = Arrays.stream(levels).sorted().distinct().toList();
        List<Duration> present;
        synchronized (BUCKETS) {
            present = BUCKETS.putIfAbsent(registry, wanted);
        }
        if (present != null && !present.equals(wanted)) {
            throw new IllegalArgumentException(
                    String.format(
                            "the timers of this registry have the service levels %s, and this"
                                    + " binder has %s: give all binders of one registry the same",
                            present, wanted));
        }
    }

    private Timer timer(MeterRegistry to, String name, Tags tags) {
        return Timer.builder(name)
                .description(RpcRdmaMeterTable.TABLE.family(name).description())
                .tags(common.and(tags))
                .serviceLevelObjectives(levels)
                .register(to);
    }

    @Override
    public void callEnded(
            RpcRdmaRole role, String procedure, RpcRdmaCallOutcome outcome, long nanos) {
        String name = procedure == null ? RpcRdmaMeterTable.OTHER_PROCEDURE : procedure;
        Timer timer = calls[role.ordinal() * OUTCOMES + outcome.ordinal()].get(name);
        if (timer == null) {
            timer = firstOf(role, name, outcome);
        }
        if (timer != null) {
            timer.record(nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** {@code null} after the registry was collected. */
    private Timer firstOf(RpcRdmaRole role, String procedure, RpcRdmaCallOutcome outcome) {
        MeterRegistry to = registry.get();
        if (to == null) {
            return null;
        }
        Tags tags =
                RpcRdmaMeterTable.role(role)
                        .and("procedure", procedure)
                        .and("outcome", RpcRdmaMeterTable.nameOf(outcome));
        Timer timer = timer(to, RpcRdmaMeterTable.CALL_DURATION, tags);
        calls[role.ordinal() * OUTCOMES + outcome.ordinal()].put(procedure, timer);
        return timer;
    }

    @Override
    public void creditGot(long nanos) {
        creditWait.record(nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void connectEnded(boolean isConnected, long nanos) {
        (isConnected ? connected : notConnected).record(nanos, TimeUnit.NANOSECONDS);
    }
}
