// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.ExposureListener;

/**
 * Gives the codec access to members of this package. Not part of the API: may change in any release.
 */
public final class InternalCapture {

    private InternalCapture() {}

    /**
     * Captures a connection, by a handler behind that of the context.
     *
     * @param ctx of the handler on the network's side
     * @param file that is written
     * @param channel of the connection
     * @param maxSegments of one message of the peer
     * @return the listener of memory exposed to the peer
     */
    public static ExposureListener addAfter(
            ChannelHandlerContext ctx, RdmaPcapFile file, RdmaChannel channel, int maxSegments) {
        RdmaPcapHandler handler = new RdmaPcapHandler(file, channel, maxSegments);
        ctx.pipeline().addAfter(ctx.name(), null, handler);
        return handler;
    }
}
