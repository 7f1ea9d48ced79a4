// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;

/** No time passes, and nothing is scheduled. */
final class FixedClock implements RequesterClockAndTimers {

    @Override
    public long nanoTime() {
        return 0;
    }

    @Override
    public Future<?> schedule(EventLoop loop, Runnable task, long nanos) {
        throw new UnsupportedOperationException();
    }
}
