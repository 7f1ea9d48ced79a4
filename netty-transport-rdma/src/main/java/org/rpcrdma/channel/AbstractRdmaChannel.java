// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;

/** What the event loop knows of its channels. */
abstract class AbstractRdmaChannel extends AbstractChannel {

    /** Whether this channel stands in the loop's list of those that have something to deliver. */
    private boolean ready;

    AbstractRdmaChannel(Channel parent) {
        super(parent);
    }

    @Override
    protected boolean isCompatible(EventLoop loop) {
        return loop instanceof RdmaEventLoop;
    }

    final RdmaEventLoop loop() {
        return (RdmaEventLoop) eventLoop();
    }

    @Override
    protected void doRegister() throws Exception {
        loop().add(this);
    }

    @Override
    protected void doDeregister() throws Exception {
        loop().remove(this);
    }

    /** Asks the loop for a {@link #deliver()} after the current poll. */
    final void becomeReady() {
        if (!ready) {
            ready = true;
            loop().ready(this);
        }
    }

    final void deliver() {
        ready = false;
        try {
            doDeliver();
        } catch (RuntimeException e) {
            // One channel that runs out of memory must not stop the others of its loop.
            pipeline().fireExceptionCaught(e);
            unsafe().close(voidPromise());
        }
    }

    /** Passes what has arrived to the pipeline, as far as the pipeline wants to read. */
    abstract void doDeliver();

    /** Ends a close that waits for posted work: the connection is cut and the close goes on. */
    abstract void cut();
}
