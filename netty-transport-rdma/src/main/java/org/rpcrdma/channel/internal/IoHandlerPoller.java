// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.internal;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.io.IOException;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * Polls a device for an {@code IoHandler} of Netty 4.2, whose event loop is not of this library. Event loop only,
 * unless a method says otherwise.
 */
public interface IoHandlerPoller extends AutoCloseable {

    /** What the poller has to know of its event loop, and tells it. Event loop only. */
    interface Loop {
        /** Whether nothing waits, so that the loop may block. */
        boolean canBlock();

        /** The time in nanoseconds until a scheduled task is due, from 0; -1 if there is none. */
        long nanosToNextTask();

        /**
         * A channel is about to be registered.
         *
         * @throws Exception when the loop does not take it
         */
        void register(Channel channel) throws Exception;

        /** A registered channel has left the event loop. */
        void deregister(Channel channel);
    }

    /** Opens pollers. */
    abstract class Factory {

        private static final Factory INSTANCE =
                ChannelImplementationLoader.of(
                        Factory.class, "org.rpcrdma.channel.DefaultIoHandlerPoller$Opener");

        /**
         * Opens a device for an event loop, which takes RDMA channels from then on until {@link
         * IoHandlerPoller#close}. Any thread.
         *
         * @param mode how the loop waits
         * @param eventLoop runs the channels
         * @param loop the same, as the poller sees it
         * @return the poller; the event loop closes it at its end
         * @throws IOException when the device cannot be opened
         */
        protected abstract IoHandlerPoller opened(
                VerbsProvider provider, PollMode mode, EventLoop eventLoop, Loop loop)
                throws IOException;
    }

    /** As {@link Factory#opened}. */
    static IoHandlerPoller open(
            VerbsProvider provider, PollMode mode, EventLoop eventLoop, Loop loop)
            throws IOException {
        return Factory.INSTANCE.opened(provider, mode, eventLoop, loop);
    }

    /**
     * Ends the last round, waits if it had nothing to do, and begins the next one by a poll of the device. Throws
     * nothing: a failure of the device is counted, logged, and followed by a pause.
     *
     * @return 0 when the device had nothing to do
     */
    int poll();

    /**
     * The time in nanoseconds that the last {@link #poll} has spent on what it found, without the wait before it; 0 if
     * it found nothing.
     */
    long activeNanos();

    /**
     * There is a task. Any thread.
     *
     * @param inEventLoop whether the caller is the event loop
     */
    void wakeup(boolean inEventLoop);

    /**
     * Closes all channels, and polls until their posted work has been done and their connections have ended, or have
     * had the time that they get. Nothing but the device runs meanwhile.
     */
    void closeChannels();

    /** Ends the device and the memory. The event loop takes no more RDMA channels. */
    @Override
    void close();
}
