// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Gives callers of a simulation its clock. */
public final class SimulatedClocks {

    private SimulatedClocks() {}

    /** A client whose deadlines go by the clock. */
    public static RpcRdmaClient.Builder on(LongSupplier clock, RpcRdmaClient.Builder builder) {
        return builder.clock(of(clock));
    }

    /** A caller in the reverse direction whose deadlines go by the clock. */
    public static RpcRdmaReverseRequester.Builder on(
            LongSupplier clock, RpcRdmaReverseRequester.Builder builder) {
        return builder.clock(of(clock));
    }

    private static RequesterClockAndTimers of(LongSupplier clock) {
        return new RequesterClockAndTimers() {
            @Override
            public long nanoTime() {
                return clock.getAsLong();
            }

            @Override
            public Future<?> schedule(EventLoop loop, Runnable task, long nanos) {
                return loop.schedule(task, nanos, TimeUnit.NANOSECONDS);
            }
        };
    }
}
