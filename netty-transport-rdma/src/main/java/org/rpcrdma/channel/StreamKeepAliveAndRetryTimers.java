// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Timers of a stream. Event loop only. */
final class StreamKeepAliveAndRetryTimers {

    /** Memory may come back on any event loop, and nobody tells the others. */
    private static final int RETRY_MILLIS = 5;

    private final EventLoop loop;
    private final Runnable retry;
    private Future<?> keepAlive;
    private Future<?> nextRetry;

    /** @param retry looks again for what there was no memory for */
    StreamKeepAliveAndRetryTimers(EventLoop loop, Runnable retry) {
        this.loop = loop;
        this.retry = retry;
    }

    /** Shows the peer from now on that this end is there. */
    void keepAlive(Runnable action, int seconds) {
        keepAlive = loop.scheduleAtFixedRate(action, seconds, seconds, TimeUnit.SECONDS);
    }

    /** There was no memory for something: it is tried again after a while. */
    void retryLater() {
        if (nextRetry == null) {
            nextRetry = loop.schedule(this::retryNow, RETRY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void retryNow() {
        nextRetry = null;
        retry.run();
    }

    /** Nothing happens any more. */
    void cancel() {
        if (keepAlive != null) {
            keepAlive.cancel(false);
        }
        if (nextRetry != null) {
            nextRetry.cancel(false);
        }
    }
}
