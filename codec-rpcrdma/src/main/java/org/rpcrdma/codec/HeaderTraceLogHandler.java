// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Logs each message and each RDMA operation in one line, at the level TRACE. Added to the pipelines of connections that
 * are made while that level is enabled.
 */
final class HeaderTraceLogHandler extends ChannelDuplexHandler {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(HeaderTraceLogHandler.class);

    static boolean isOn() {
        return LOGGER.isTraceEnabled();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf) {
            LOGGER.trace("{} received: {}", ctx.channel(), line(message));
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        LOGGER.trace("{} sent: {}", ctx.channel(), line(message));
        ctx.write(message, promise);
    }

    /** One line of text for a message between the codec and the device. */
    static String line(Object message) {
        if (message instanceof ByteBuf send) {
            return TransportHeader.describe(send);
        } else if (message instanceof RdmaSendWithInvalidate send) {
            return TransportHeader.describe(send.content())
                    + ", invalidates "
                    + handle(send.invalidateHandle());
        } else if (message instanceof RdmaWrite write) {
            return "RDMA Write of "
                    + range(write.content(), " to ", write.handle(), write.offset());
        } else if (message instanceof RdmaRead read) {
            return "RDMA Read of " + range(read.content(), " from ", read.handle(), read.offset());
        }
        return message.toString();
    }

    private static String range(ByteBuf content, String way, int handle, long offset) {
        return content.readableBytes()
                + " bytes"
                + way
                + handle(handle)
                + " at 0x"
                + Long.toHexString(offset);
    }

    private static String handle(int handle) {
        return String.format("0x%08x", handle);
    }
}
