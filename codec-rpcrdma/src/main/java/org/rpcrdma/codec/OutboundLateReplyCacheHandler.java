// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.internal.DroppedCallListener;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;

/**
 * Passes replies that RPC handlers write after the channel was closed to the duplicate request cache. Such a channel
 * has no other handler; the write then fails like every write to a closed channel.
 */
final class OutboundLateReplyCacheHandler extends ChannelOutboundHandlerAdapter
        implements DroppedCallListener {

    private final DuplicateRequestCacheAccess duplicates;

    OutboundLateReplyCacheHandler(DuplicateRequestCacheAccess duplicates) {
        this.duplicates = duplicates;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        Object message =
                written instanceof ByteBuf bytes
                        ? OutboundRecordMarkDetector.without(bytes, ctx.alloc())
                        : written;
        duplicates.answeredLate(message);
        ctx.write(message, promise);
    }

    @Override
    public void callDropped(int xid) {
        duplicates.unanswered(xid);
    }
}
