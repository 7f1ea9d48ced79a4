// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import java.util.function.Consumer;
import org.rpcrdma.codec.internal.ReusableWritePromise;

/**
 * Promise of one work request of an outbound reply. Its failure closes the connection, so that the requester learns
 * that no reply comes (RFC 8166, 4.5.4), and may mark the call as fatal (4.5.3). Outlives the state of the call; reused
 * for later work requests.
 */
final class CloseOnFailureReplyPromise extends ReusableWritePromise {

    private final ConnectionSharedState link;
    private final Consumer<CloseOnFailureReplyPromise> pool;
    private int xid;

    /** Void promise of the user, which reports a failure; {@code null} for work requests of the codec. */
    private ChannelPromise user;

    CloseOnFailureReplyPromise(
            ConnectionSharedState link, Consumer<CloseOnFailureReplyPromise> pool) {
        super(link.channel);
        this.link = link;
        this.pool = pool;
    }

    CloseOnFailureReplyPromise of(int call) {
        xid = call;
        return this;
    }

    /** Promise of the last work request of a reply, given the promise of the user. */
    ChannelPromise behind(ChannelPromise written) {
        if (!written.isVoid()) {
            return written.addListener((ChannelFutureListener) work -> ended(work.cause()));
        }
        user = written;
        return this;
    }

    @Override
    public void ended(Throwable cause) {
        ChannelPromise told = user;
        user = null;
        if (cause != null) {
            link.blame(xid, cause);
            channel().close();
            if (told != null) {
                told.tryFailure(cause);
            }
        }
        pool.accept(this);
    }
}
