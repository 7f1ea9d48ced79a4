// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A connect that somebody waits for: its promise, and how long it may take. */
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
     * Says when to give up.
     *
     * @param millis 0 for never
     * @param onTimeout gets the reason
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

    /** Has it done when the user cancels. */
    void whenCancelled(Runnable task) {
        promise.addListener(
                connected -> {
                    if (connected.isCancelled()) {
                        task.run();
                    }
                });
    }

    /** The connection exists. False when nobody wants it any more, because the user has cancelled. */
    boolean succeed() {
        stopTimer();
        return promise.trySuccess();
    }

    /** There is no connection; a user who has cancelled is not told. */
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
