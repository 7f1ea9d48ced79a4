// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.RejectedExecutionException;

/** Base class of all channels: the operations that the event loop calls. */
abstract class AbstractRdmaChannel extends AbstractChannel {

    /** Of the event loop, the last one after deregistration; {@code null} before registration. */
    private volatile EventLoopDevicePoller poller;

    /** Whether this channel is in the loop's queue of channels with inbound data. */
    private boolean ready;

    /** Whether the pipeline has requested a read that is not yet served. */
    boolean readPending;

    /** The operations themselves. */
    private final AbstractUnsafe own;

    /** For a channel without an event loop. */
    private final Unsafe registration;

    /** One of the two, as others see it; {@code null} while Netty constructs its part of the channel. */
    private Unsafe operations;

    AbstractRdmaChannel(Channel parent) {
        super(parent);
        own = (AbstractUnsafe) super.unsafe();
        registration = new RegistrationCheckingUnsafe(own, this::refusal);
        operations = registration;
    }

    @Override
    public Unsafe unsafe() {
        return operations == null ? super.unsafe() : operations;
    }

    /** The operations that Netty has made for this channel. */
    final AbstractUnsafe ownUnsafe() {
        return own;
    }

    /** Any: {@link RegistrationCheckingUnsafe} has refused what is not. */
    @Override
    protected boolean isCompatible(EventLoop loop) {
        return true;
    }

    /** Why this channel cannot be registered with that event loop; {@code null} if it can. */
    private Throwable refusal(EventLoop loop) {
        if (EventLoopPollerRegistry.of(loop) != null) {
            return null;
        }
        if (loop.isShuttingDown()) {
            return new RejectedExecutionException("event loop has shut down");
        }
        return new IllegalStateException(
                "event loop: "
                        + loop.getClass().getName()
                        + " for a "
                        + getClass().getSimpleName()
                        + " (expected: a loop that polls an RDMA device; give the bootstrap an"
                        + " RdmaEventLoopGroup in the place of its group, or with Netty 4.2 a"
                        + " MultiThreadIoEventLoopGroup of RdmaIoHandler.newFactory())");
    }

    /**
     * @throws IllegalStateException when the caller is not the event loop of this channel
     */
    final void checkInEventLoop(String method) {
        if (!eventLoop().inEventLoop()) {
            throw new IllegalStateException(
                    method
                            + " was called by thread "
                            + Thread.currentThread().getName()
                            + " (expected: the event loop of the channel; call it inside of"
                            + " channel.eventLoop().execute)");
        }
    }

    /**
     * @throws IllegalArgumentException when the address is of another kind
     */
    static InetSocketAddress internet(SocketAddress address) {
        if (address instanceof InetSocketAddress internet) {
            return internet;
        }
        throw new IllegalArgumentException(
                "address: "
                        + address
                        + " of "
                        + address.getClass().getName()
                        + " (expected: a java.net.InetSocketAddress)");
    }

    /**
     * The poller of this channel's event loop. Any thread.
     *
     * @throws IllegalStateException when the channel has not been registered
     */
    final EventLoopDevicePoller poller() {
        EventLoopDevicePoller current = poller;
        if (current == null) {
            throw new IllegalStateException("channel not registered to an event loop");
        }
        return current;
    }

    @Override
    protected void doRegister() throws Exception {
        EventLoopDevicePoller next = EventLoopPollerRegistry.of(eventLoop());
        if (next == null) {
            throw new RejectedExecutionException("event loop has shut down");
        }
        ready = false;
        next.add(this);
        poller = next;
        operations = own;
    }

    @Override
    protected void doDeregister() throws Exception {
        operations = registration;
        poller().remove(this);
    }

    @Override
    protected void doBeginRead() {
        readPending = true;
    }

    /** Cancels the requested read. Any thread. */
    final void clearReadPending() {
        if (!isRegistered() || eventLoop().inEventLoop()) {
            readPending = false;
        } else {
            eventLoop()
                    .execute(
                            () -> {
                                if (!config().isAutoRead()) {
                                    readPending = false;
                                }
                            });
        }
    }

    /** Requests a {@link #deliver()} from the loop after the current poll. */
    final void becomeReady() {
        if (!ready) {
            poller.ready(this);
            ready = true;
        }
    }

    final void deliver() {
        if (!eventLoop().inEventLoop()) {
            return; // the channel has moved to another loop, which delivers
        }
        ready = false;
        try {
            doDeliver();
        } catch (Throwable t) {
            // A channel that runs out of memory must not stop the other channels of its loop.
            pipeline().fireExceptionCaught(t);
            unsafe().close(voidPromise());
        }
    }

    /** Passes inbound data to the pipeline while it wants to read. */
    abstract void doDeliver();

    /** Time in milliseconds that a close waits for posted work. */
    abstract int drainMillis();

    /** Ends a close that waits for posted work: aborts the connection and completes the close. */
    abstract void cut();

    /** {@code IP_TOS} was set. Any thread. Of no effect on a listener. */
    void trafficClassChanged() {}
}
