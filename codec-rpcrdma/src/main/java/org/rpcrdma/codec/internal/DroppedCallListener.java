// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import java.util.concurrent.RejectedExecutionException;

/** The handler of a channel that remembers calls until their replies are written. */
public interface DroppedCallListener extends ChannelHandler {

    /**
     * No reply to a call will be written. Event loop only.
     *
     * @param xid of the call
     */
    void callDropped(int xid);

    /**
     * Tells the listener of a channel, if there is one, that a call ends without a reply. Any thread; on another one
     * than the event loop's it is told later.
     *
     * @param channel that the call has come by; it may be closed
     * @param xid of the call
     */
    static void tell(Channel channel, int xid) {
        if (channel.eventLoop().inEventLoop()) {
            tellHere(channel, xid);
            return;
        }
        try {
            channel.eventLoop().execute(() -> tellHere(channel, xid));
        } catch (RejectedExecutionException e) {
            // The event loop has ended, and the connection with it.
        } catch (OutOfMemoryError e) {
            channel.close(); // or the call would stay in progress
            throw e;
        }
    }

    /**
     * Whether somebody looks at replies to calls of a channel. Netty empties the pipeline of a closed one; where the
     * duplicate request cache waits for a reply, there is a handler for it. Any thread.
     */
    static boolean isReplyAwaited(Channel channel) {
        return channel.isOpen() || channel.pipeline().first() != null;
    }

    private static void tellHere(Channel channel, int xid) {
        DroppedCallListener listener = channel.pipeline().get(DroppedCallListener.class);
        if (listener != null) {
            listener.callDropped(xid);
        }
    }
}
