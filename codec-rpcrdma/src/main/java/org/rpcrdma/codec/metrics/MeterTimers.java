// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.CallOutcome;
import org.rpcrdma.codec.RpcRdmaListener;
import org.rpcrdma.codec.RpcRdmaRole;

/** Records times in one registry. Nothing is allocated for a call whose procedure was called before. */
@SuppressWarnings("EnumOrdinal") // the arrays live and die with the enums' classes
final class MeterTimers implements RpcRdmaListener {

    private static final int OUTCOMES = CallOutcome.values().length;

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
        creditWait = timer(registry, RpcRdmaMeters.CREDIT_WAIT, Tags.empty());
        connected =
                timer(registry, RpcRdmaMeters.CONNECT_DURATION, Tags.of("outcome", "connected"));
        notConnected =
                timer(registry, RpcRdmaMeters.CONNECT_DURATION, Tags.of("outcome", "failed"));
    }

    private Timer timer(MeterRegistry to, String name, Tags tags) {
        return Timer.builder(name)
                .description(RpcRdmaMeters.TABLE.family(name).description())
                .tags(common.and(tags))
                .serviceLevelObjectives(levels)
                .register(to);
    }

    @Override
    public void callEnded(RpcRdmaRole role, String procedure, CallOutcome outcome, long nanos) {
        String name = procedure == null ? RpcRdmaMeters.OTHER_PROCEDURE : procedure;
        Timer timer = calls[role.ordinal() * OUTCOMES + outcome.ordinal()].get(name);
        if (timer == null) {
            timer = firstOf(role, name, outcome);
        }
        if (timer != null) {
            timer.record(nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** {@code null} when the registry is gone. */
    private Timer firstOf(RpcRdmaRole role, String procedure, CallOutcome outcome) {
        MeterRegistry to = registry.get();
        if (to == null) {
            return null;
        }
        Tags tags =
                RpcRdmaMeters.role(role)
                        .and("procedure", procedure)
                        .and("outcome", RpcRdmaMeters.nameOf(outcome));
        Timer timer = timer(to, RpcRdmaMeters.CALL_DURATION, tags);
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
