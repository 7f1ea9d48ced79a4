// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.capture.PcapTcpConnection.Way;

/**
 * Has the bytes of a stream written to a {@link RdmaPcapFile}, as a TCP connection that carries them. Next to the
 * network.
 */
final class StreamPcapHandler extends ChannelDuplexHandler {

    private static final byte[] NOTHING = {};

    private final RdmaPcapFile file;
    private final RdmaStreamChannel channel;

    /** What was written behind a region whose bytes have not all been shown, that region included. */
    private final ArrayDeque<Object> behindRegion = new ArrayDeque<>();

    private final Set<Way> ended = EnumSet.noneOf(Way.class);

    /** {@code null} before the channel is active. */
    private PcapTcpConnection tcp;

    private boolean isLost;

    StreamPcapHandler(RdmaPcapFile file, RdmaStreamChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        if (channel.isActive()) {
            begin();
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        begin();
        ctx.fireChannelActive();
    }

    private void begin() {
        if (tcp == null) {
            Way first = channel.parent() == null ? Way.SENT : Way.RECEIVED;
            tcp =
                    new PcapTcpConnection(
                            file,
                            PcapTcpConnection.orAny(channel.localAddress()),
                            PcapTcpConnection.orAny(channel.remoteAddress()),
                            () -> tcp.handshake(first));
            tcp.begin();
        }
    }

    // ------------------------------------------------------------------ data

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf received) {
            show(Way.RECEIVED, received);
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof FileRegion region) {
            CapturedFileRegion captured =
                    new CapturedFileRegion(region, this::showUpTo, piece -> show(Way.SENT, piece));
            behindRegion.add(captured);
            ctx.write(captured, promise.unvoid().addListener(done -> regionEnded(captured)));
            return;
        }
        if (message instanceof ByteBuf sent) {
            if (behindRegion.isEmpty()) {
                show(Way.SENT, sent);
            } else {
                behindRegion.add(sent.retainedDuplicate());
            }
        }
        ctx.write(message, promise);
    }

    /** Regions are transferred in their order: those in front of this one are over. */
    private void showUpTo(CapturedFileRegion region) {
        while (!behindRegion.isEmpty() && behindRegion.peek() != region) {
            showNext();
        }
    }

    private void regionEnded(CapturedFileRegion region) {
        if (behindRegion.contains(region)) {
            showUpTo(region);
            behindRegion.remove();
            while (behindRegion.peek() instanceof ByteBuf) {
                showNext();
            }
        }
    }

    private void showNext() {
        if (behindRegion.remove() instanceof ByteBuf buffer) {
            show(Way.SENT, buffer);
            buffer.release();
        }
    }

    private void show(Way way, ByteBuf bytes) {
        for (int done = 0; done < bytes.readableBytes(); ) {
            int left = bytes.readableBytes() - done;
            byte[] part = new byte[Math.min(left, PcapIwarpConnection.MOST_PAYLOAD)];
            bytes.getBytes(bytes.readerIndex() + done, part);
            segment(way, PcapTcpConnection.PUSH, part);
            done += part.length;
        }
    }

    private void show(Way way, ByteBuffer bytes) {
        while (bytes.hasRemaining()) {
            byte[] part = new byte[Math.min(bytes.remaining(), PcapIwarpConnection.MOST_PAYLOAD)];
            bytes.get(part);
            segment(way, PcapTcpConnection.PUSH, part);
        }
    }

    /** What is written before the connection or behind the end of a direction fails. */
    private void segment(Way way, int flags, byte[] payload) {
        if (tcp != null && !ended.contains(way)) {
            tcp.segment(way, flags, payload);
        }
    }

    // ------------------------------------------------------------------ the end

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            end(Way.RECEIVED, PcapTcpConnection.FIN);
        } else if (event == ChannelOutputShutdownEvent.INSTANCE) {
            end(Way.SENT, PcapTcpConnection.FIN);
        }
        ctx.fireUserEventTriggered(event);
    }

    /** Next to the network this is a failure of the connection. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        isLost = true;
        ctx.fireExceptionCaught(cause);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (isLost) {
            end(Way.RECEIVED, PcapTcpConnection.RESET);
        } else if (channel.config().getSoLinger() == 0) {
            end(Way.SENT, PcapTcpConnection.RESET);
        } else {
            end(Way.SENT, PcapTcpConnection.FIN);
            end(Way.RECEIVED, PcapTcpConnection.FIN);
        }
        ctx.fireChannelInactive();
    }

    private void end(Way way, int flag) {
        segment(way, flag, NOTHING);
        ended.add(way);
        if (flag == PcapTcpConnection.RESET) {
            ended.add(way.other());
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        for (Object waiting : behindRegion) {
            if (waiting instanceof ByteBuf buffer) {
                buffer.release();
            }
        }
        behindRegion.clear();
    }
}
