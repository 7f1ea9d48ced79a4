// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A connect in progress: its promise and its time-out. */
final class PendingConnect {

    private final ChannelPromise promise;
    private final InetSocketAddress remote;
    private Future<?> timeout;

    PendingConnect(ChannelPromise promise, InetSocketAddress remote) {
        this.promise = promise;
        this.remote = remote;
    }

    InetSocketAddress remote() {
        return remote;
    }

    /**
     * Starts the time-out.
     *
     * @param millis 0 for never
     * @param onTimeout receives the exception
     */
    void limit(EventLoop loop, int millis, Consumer<Throwable> onTimeout) {
        if (millis > 0) {
            timeout =
                    loop.schedule(
                            () ->
                                    onTimeout.accept(
                                            new ConnectTimeoutException(
                                                    "connection timed out after "
                                                            + millis
                                                            + " ms: "
                                                            + remote)),
                            millis,
                            TimeUnit.MILLISECONDS);
        }
    }

    /** Runs a task when the user cancels the promise. */
    void whenCancelled(Runnable task) {
        promise.addListener(
                connected -> {
                    if (connected.isCancelled()) {
                        task.run();
                    }
                });
    }

    /** Completes the promise; {@code false} if the user has cancelled it. */
    boolean trySuccess() {
        stopTimer();
        return promise.trySuccess();
    }

    /** Fails the promise, unless the user has cancelled it. */
    void fail(Throwable cause) {
        stopTimer();
        promise.tryFailure(cause);
    }

    private void stopTimer() {
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
    }
}
