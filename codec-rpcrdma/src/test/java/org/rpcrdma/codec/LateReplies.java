// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;

/** As the codec does it where the duplicate request cache waits for the replies of a lost connection. */
public final class LateReplies extends ChannelHandlerAdapter {
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        ctx.pipeline().addLast(new ChannelOutboundHandlerAdapter());
    }
}
