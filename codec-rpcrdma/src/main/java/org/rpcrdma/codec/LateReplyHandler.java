// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RecordMark;

/**
 * The only handler of a channel that is closed: shows the duplicate request cache what the RPC handlers have answered
 * too late. The write fails after that, like every write to a closed channel.
 */
final class LateReplyHandler extends ChannelOutboundHandlerAdapter {

    private final ConnectionDuplicateRequests duplicates;

    LateReplyHandler(ConnectionDuplicateRequests duplicates) {
        this.duplicates = duplicates;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        Object message =
                written instanceof ByteBuf bytes ? RecordMark.without(bytes, ctx.alloc()) : written;
        duplicates.answeredLate(message);
        ctx.write(message, promise);
    }
}
