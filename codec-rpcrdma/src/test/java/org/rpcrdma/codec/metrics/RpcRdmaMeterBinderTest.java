// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;

class RpcRdmaMeterBinderTest {

    @Test
    void everyCounterGaugeAndTheTimerAreBound() {
        MeterRegistry registry = new SimpleMeterRegistry();
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        new RpcRdmaMeterBinder(metrics, Tags.of("side", "client")).bindTo(registry);
        assertThat(registry.getMeters()).hasSize(RpcRdmaCounter.values().length + 4);
        assertThat(
                        registry.get("rpcrdma.calls.sent")
                                .tag("side", "client")
                                .functionCounter()
                                .count())
                .isZero();
        assertThat(registry.get("rpcrdma.dropped.unknown.xid").functionCounter().count()).isZero();
        assertThat(registry.get("rpcrdma.connections").gauge().value()).isZero();
        assertThat(registry.get("rpcrdma.call.latency").timer().count()).isZero();
    }
}
