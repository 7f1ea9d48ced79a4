// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerAdapter;
import io.netty.channel.ChannelHandlerContext;
import java.util.Objects;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/**
 * Captures one connection without the codec to a {@link RdmaPcapFile}; each connection needs its own. It is the first
 * handler of the pipeline, {@code channel.pipeline().addFirst(new RdmaCaptureHandler(file))}, and captures from when it
 * was added on. It replaces itself by another handler of the same name.
 *
 * <p>On an {@link RdmaChannel} it shows Sends, and the RDMA Writes and Reads of this end; what the peer writes or reads
 * here is not known. On an {@link RdmaStreamChannel} it shows bytes when they are written to the channel, those of a
 * {@link io.netty.channel.FileRegion} when they are transferred. A stream appears as a TCP connection with its bytes;
 * the messages and credits of its protocol are not shown. Event loop only, as all handlers.
 */
public final class RdmaCaptureHandler extends ChannelHandlerAdapter {

    private final RdmaPcapFile file;

    /**
     * Captures the connection whose pipeline this handler is added to.
     *
     * @param file that is written, open until the connection has ended
     */
    public RdmaCaptureHandler(RdmaPcapFile file) {
        this.file = Objects.requireNonNull(file, "file");
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException when the channel is neither an {@link RdmaChannel} nor an {@link RdmaStreamChannel}
     */
    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        Channel channel = ctx.channel();
        ChannelHandler handler;
        if (channel instanceof RdmaStreamChannel stream) {
            handler = new StreamPcapHandler(file, stream);
        } else if (channel instanceof RdmaChannel messages) {
            handler = new RdmaPcapHandler(file, messages, 0);
        } else {
            throw new IllegalStateException(
                    "channel: "
                            + channel
                            + " cannot be captured (expected: an RdmaChannel or an"
                            + " RdmaStreamChannel)");
        }
        ctx.pipeline().replace(this, ctx.name(), handler);
    }
}
