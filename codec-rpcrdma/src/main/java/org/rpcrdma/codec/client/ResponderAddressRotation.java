// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Takes the addresses of a responder in turn for one connection, and locates the responder again after the last one.
 * Event loop only.
 */
final class ResponderAddressRotation {

    private final ResponderLocator locator;
    private final EventLoop loop;
    private final int timeoutMillis;
    private Iterator<? extends SocketAddress> left = List.<SocketAddress>of().iterator();

    /** Lookup that is under way; {@code null} while none is. */
    private Future<? extends List<? extends SocketAddress>> lookup;

    private Consumer<Throwable> onFailure;

    ResponderAddressRotation(ResponderLocator locator, EventLoop loop, int timeoutMillis) {
        this.locator = locator;
        this.loop = loop;
        this.timeoutMillis = timeoutMillis;
    }

    /** Passes the next address to one of the two, at once if it is known. One request at a time. */
    void next(Consumer<SocketAddress> onAddress, Consumer<Throwable> fails) {
        if (left.hasNext()) {
            onAddress.accept(left.next());
            return;
        }
        Future<? extends List<? extends SocketAddress>> begun;
        try {
            begun = Objects.requireNonNull(locator.locate(), "future of the addresses");
        } catch (Throwable t) {
            fails.accept(t);
            return;
        }
        lookup = begun;
        onFailure = fails;
        if (begun.isDone()) {
            located(begun, onAddress);
            return;
        }
        Future<?> timer =
                loop.schedule(
                        () ->
                                end(
                                        begun,
                                        new ConnectException(
                                                "no address of "
                                                        + locator
                                                        + " within "
                                                        + timeoutMillis
                                                        + " ms (expected: an answer, or a longer"
                                                        + " connect time-out)")),
                        timeoutMillis,
                        TimeUnit.MILLISECONDS);
        begun.addListener(
                done -> {
                    timer.cancel(false);
                    try {
                        loop.execute(() -> located(begun, onAddress));
                    } catch (RejectedExecutionException e) {
                        // The event loop has ended, and its connections with it.
                    }
                });
    }

    private void located(
            Future<? extends List<? extends SocketAddress>> done,
            Consumer<SocketAddress> onAddress) {
        if (lookup != done) {
            return;
        }
        if (!done.isSuccess()) {
            end(done, done.cause());
            return;
        }
        try {
            left = List.<SocketAddress>copyOf(done.getNow()).iterator();
        } catch (RuntimeException e) {
            end(done, e); // no list, or one with a null in it
            return;
        }
        if (!left.hasNext()) {
            end(done, new ConnectException(locator + " has no address (expected: at least one)"));
            return;
        }
        lookup = null;
        onAddress.accept(left.next());
    }

    private void end(Future<?> ended, Throwable cause) {
        if (lookup == ended) {
            lookup = null;
            onFailure.accept(cause);
        }
    }

    /** Ends the lookup that is under way, if there is one, which fails. */
    void abort(Throwable cause) {
        if (lookup != null) {
            end(lookup, cause);
        }
    }
}
