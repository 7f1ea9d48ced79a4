// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;

/**
 * Bounds the messages that answer the peer's at once and that the device has not sent yet: errors, and pull
 * completions for calls that have ended. Their number follows from what the peer sends, not from credits, and one that
 * reads nothing would have them fill the memory of all connections. Event loop only.
 */
final class AnswersInFlight implements ChannelFutureListener {

    /** More than a peer within its credits has answered before it reads again, unless it has more credits. */
    static final int LEAST_LIMIT = 1024;

    private int count;

    /**
     * {@return whether one more may be written, with this object as a listener}
     *
     * @param credits that the peer has
     */
    boolean hasRoom(int credits) {
        return count < Math.max(LEAST_LIMIT, credits);
    }

    /** One more is written. */
    AnswersInFlight add() {
        count++;
        return this;
    }

    @Override
    public void operationComplete(ChannelFuture sent) {
        count--;
    }
}
