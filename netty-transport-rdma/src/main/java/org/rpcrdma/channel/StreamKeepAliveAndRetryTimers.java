// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Timers of a stream. Event loop only. */
final class StreamKeepAliveAndRetryTimers {

    /** Memory may be released on any event loop, without a signal to others. */
    private static final int RETRY_MILLIS = 5;

    private final EventLoop loop;
    private final Runnable retry;
    private Future<?> keepAlive;
    private Future<?> nextRetry;

    /** @param retry retries operations that lacked memory */
    StreamKeepAliveAndRetryTimers(EventLoop loop, Runnable retry) {
        this.loop = loop;
        this.retry = retry;
    }

    /** Starts the keep-alive timer. */
    void keepAlive(Runnable action, int seconds) {
        keepAlive = loop.scheduleAtFixedRate(action, seconds, seconds, TimeUnit.SECONDS);
    }

    /** Schedules a retry of an operation that lacked memory. */
    void retryLater() {
        if (nextRetry == null) {
            nextRetry = loop.schedule(this::retryNow, RETRY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void retryNow() {
        nextRetry = null;
        retry.run();
    }

    /** Cancels all timers. */
    void cancel() {
        if (keepAlive != null) {
            keepAlive.cancel(false);
        }
        if (nextRetry != null) {
            nextRetry.cancel(false);
        }
    }
}
