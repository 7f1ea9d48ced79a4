// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import java.util.function.Consumer;
import org.rpcrdma.codec.internal.CompletionPromise;

/**
 * Watches a work request of a reply: when it fails, the requester has to learn that no reply comes (RFC 8166, 4.5.4),
 * and the call may be to blame (4.5.3). Used again for later ones; the call is long over when the device is done.
 */
final class ReplyWorkRequestPromise extends CompletionPromise {

    private final ConnectionContext link;
    private final Consumer<ReplyWorkRequestPromise> pool;
    private int xid;

    /** The void promise of the user, who is told of a failure by it; {@code null} for work that he did not write. */
    private ChannelPromise user;

    ReplyWorkRequestPromise(ConnectionContext link, Consumer<ReplyWorkRequestPromise> pool) {
        super(link.channel());
        this.link = link;
        this.pool = pool;
    }

    ReplyWorkRequestPromise of(int call) {
        xid = call;
        return this;
    }

    /** The promise for the last work request of a reply whose user has given this one. */
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
