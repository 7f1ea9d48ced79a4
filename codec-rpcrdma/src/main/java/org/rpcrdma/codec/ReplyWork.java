// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;

/**
 * Watches a work request of a reply: when it fails, the requester has to learn that no reply comes (RFC 8166, 4.5.4), and the
 * call may be to blame (4.5.3). Used again for later ones; the exchange is long over when the device is done.
 */
final class ReplyWork implements ChannelFutureListener {

    private final RpcRdmaConnection connection;
    private int xid;

    ReplyWork(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    ReplyWork of(int call) {
        xid = call;
        return this;
    }

    @Override
    public void operationComplete(ChannelFuture work) {
        if (!work.isSuccess()) {
            connection.blame(xid, work.cause());
            work.channel().close();
        }
        connection.recycle(this);
    }
}
