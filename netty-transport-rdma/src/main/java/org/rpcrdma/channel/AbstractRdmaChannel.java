// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** Base class of all channels, as far as the event loop knows them. */
abstract class AbstractRdmaChannel extends AbstractChannel {

    /** Whether this channel stands in the loop's list of those that have something to deliver. */
    private boolean ready;

    /** Whether the pipeline wants to read, and nothing was delivered since it said so. */
    private boolean readPending;

    AbstractRdmaChannel(Channel parent) {
        super(parent);
    }

    @Override
    protected boolean isCompatible(EventLoop loop) {
        return loop instanceof RdmaEventLoop;
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

    final RdmaEventLoop loop() {
        return (RdmaEventLoop) eventLoop();
    }

    @Override
    protected void doRegister() throws Exception {
        ready = false;
        loop().add(this);
    }

    @Override
    protected void doDeregister() throws Exception {
        loop().remove(this);
    }

    @Override
    protected void doBeginRead() {
        readPending = true;
    }

    final boolean isReadPending() {
        return readPending;
    }

    /** What the pipeline has asked for is about to be delivered. */
    final void readBegins() {
        readPending = false;
    }

    /** The pipeline does not want to read any more. Callable from any thread. */
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

    /** Asks the loop for a {@link #deliver()} after the current poll. */
    final void becomeReady() {
        if (!ready) {
            ready = true;
            loop().ready(this);
        }
    }

    final void deliver() {
        if (!eventLoop().inEventLoop()) {
            return; // it has moved to another loop, which delivers what there is
        }
        ready = false;
        try {
            doDeliver();
        } catch (Throwable t) {
            // One channel that runs out of memory must not stop the others of its loop.
            pipeline().fireExceptionCaught(t);
            unsafe().close(voidPromise());
        }
    }

    /** Passes what has arrived to the pipeline, as far as the pipeline wants to read. */
    abstract void doDeliver();

    /** Ends a close that waits for posted work: the connection is cut and the close goes on. */
    abstract void cut();
}
