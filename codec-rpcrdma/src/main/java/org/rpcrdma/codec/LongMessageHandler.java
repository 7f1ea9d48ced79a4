// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Messages that do not fit inline (RFC 8166, 3.5): each role has its class, and the next stage sees complete messages.
 */
final class LongMessageHandler extends DirectlyLinkedStageHandler {

    private final RequesterLongReplyReceiver outbound;
    private final ResponderLongMessages inbound;

    LongMessageHandler(RpcRdmaConnection connection) {
        ConnectionSharedState link = connection.link();
        outbound = new RequesterLongReplyReceiver(this, link, connection.requester());
        inbound = new ResponderLongMessages(this, link, connection.responder());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof InboundCallState call
                && (call.request.pull != null || call.request.isLong)) {
            inbound.receive(ctx, call);
        } else if (message instanceof OutboundCallState call
                && (call.reply.pull != null || call.reply.isLong)) {
            outbound.receive(ctx, call);
        } else {
            toUser(message);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof InboundCallState call && call.reply.refusal == null) {
            inbound.write(ctx, call, promise);
        } else {
            toNetwork(message, promise);
        }
    }
}
