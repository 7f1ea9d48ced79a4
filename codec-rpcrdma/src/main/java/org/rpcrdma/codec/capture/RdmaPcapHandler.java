// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.collection.IntObjectHashMap;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.capture.PcapTcpConnection.Way;
import org.rpcrdma.codec.internal.ExposureListener;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/** Has all that passes between the codec and the device written to a {@link RdmaPcapFile}. Next to the network. */
final class RdmaPcapHandler extends ChannelDuplexHandler implements ExposureListener {

    private record Memory(ByteBuf buffer, int index, long offset, int length) {}

    private final RdmaPcapFile file;
    private final RdmaChannel channel;
    private final int maxSegments;

    /** Memory exposed to the peer, by handle. */
    private final IntObjectHashMap<Memory> exposed = new IntObjectHashMap<>();

    private final TransportHeader header = new TransportHeader();

    /** {@code null} before the channel is active. */
    private PcapIwarpConnection connection;

    private boolean isClosed;

    /**
     * @param maxSegments of one message of the peer, whose chunks say what it reads and writes here; 0 where messages
     *     are not those of RPC-over-RDMA
     */
    RdmaPcapHandler(RdmaPcapFile file, RdmaChannel channel, int maxSegments) {
        this.file = file;
        this.channel = channel;
        this.maxSegments = maxSegments;
    }

    @Override
    public void exposed(int handle, ByteBuf buffer, int index, int length) {
        exposed.put(handle, new Memory(buffer, index, channel.exposedOffset(handle), length));
    }

    @Override
    public void invalidated(int handle) {
        exposed.remove(handle);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        connection();
        ctx.fireChannelActive();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        exposed.clear();
        if (connection != null && !isClosed) {
            isClosed = true;
            connection.closed();
        }
        ctx.fireChannelInactive();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf received) {
            PcapIwarpConnection shown = connection();
            if (shown == null) {
                ctx.fireChannelRead(message);
                return;
            }
            if (decode(received)) {
                written(shown, header.writes());
                written(shown, header.reply());
            }
            shown.send(Way.RECEIVED, received);
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        PcapIwarpConnection shown = connection();
        if (shown == null) {
            // There are no addresses yet, and what is flushed before the connection fails.
            ctx.write(message, promise);
        } else {
            write(ctx, shown, message, promise);
        }
    }

    private void write(
            ChannelHandlerContext ctx,
            PcapIwarpConnection shown,
            Object message,
            ChannelPromise promise) {
        if (message instanceof ByteBuf sent) {
            shown.send(Way.SENT, sent);
            readByPeer(shown, sent);
        } else if (message instanceof RdmaSendWithInvalidate sent) {
            shown.sendWithInvalidate(Way.SENT, sent.content(), sent.invalidateHandle());
            readByPeer(shown, sent.content());
        } else if (message instanceof RdmaWrite write) {
            ByteBuf data = write.content();
            shown.write(
                    Way.SENT,
                    write.handle(),
                    write.offset(),
                    data,
                    data.readerIndex(),
                    data.readableBytes());
        } else if (message instanceof RdmaRead read) {
            ctx.write(message, watched(shown, read, promise.unvoid()));
            return;
        }
        ctx.write(message, promise);
    }

    /** Captures the data before the promise completes, because the codec may then release them. */
    private ChannelPromise watched(
            PcapIwarpConnection shown, RdmaRead read, ChannelPromise promise) {
        ByteBuf sink = read.content();
        int index = sink.readerIndex();
        int length = sink.readableBytes();
        int stag = shown.readRequest(Way.SENT, read.handle(), read.offset(), length);
        ByteBuf kept = sink.retainedDuplicate();
        ChannelPromise device = channel.newPromise();
        device.addListener(
                done -> {
                    if (done.isSuccess()) {
                        shown.readResponse(Way.RECEIVED, stag, kept, index, length);
                    }
                    kept.release();
                    if (done.isSuccess()) {
                        promise.trySuccess();
                    } else {
                        promise.tryFailure(done.cause());
                    }
                });
        return device;
    }

    /** A peer has written into memory here before it has sent this. */
    private void written(PcapIwarpConnection shown, SegmentList list) {
        for (int i = 0; i < list.segments(); i++) {
            Memory memory = exposed.get(list.handle(i));
            if (memory != null && list.length(i) > 0) {
                long from = list.offset(i) - memory.offset;
                int length = (int) Math.min(list.length(i), memory.length);
                if (from == 0) {
                    shown.write(
                            Way.RECEIVED,
                            list.handle(i),
                            list.offset(i),
                            memory.buffer,
                            memory.index,
                            length);
                }
            }
        }
    }

    /** Captures the RDMA Reads that the peer may make on this message. */
    private void readByPeer(PcapIwarpConnection shown, ByteBuf sent) {
        if (exposed.isEmpty() || !decode(sent)) {
            return;
        }
        SegmentList reads = header.reads();
        for (int i = 0; i < reads.segments(); i++) {
            Memory memory = exposed.get(reads.handle(i));
            if (memory != null) {
                int stag =
                        shown.readRequest(
                                Way.RECEIVED, reads.handle(i), reads.offset(i), memory.length);
                shown.readResponse(Way.SENT, stag, memory.buffer, memory.index, memory.length);
            }
        }
    }

    /** Whether it has lists that can be read. */
    private boolean decode(ByteBuf message) {
        int start = message.readerIndex();
        if (maxSegments == 0 || message.readableBytes() < TransportHeader.MINIMUM_BYTES) {
            return false;
        }
        header.decodeFixed(message, start);
        int proc = header.proc();
        return (proc == TransportHeader.RDMA_MSG || proc == TransportHeader.RDMA_NOMSG)
                && header.decodeLists(
                                message,
                                start + TransportHeader.FIXED_BYTES,
                                message.writerIndex(),
                                maxSegments)
                        >= 0;
    }

    /** The connection with its addresses and private data; {@code null} before the channel is active. */
    private PcapIwarpConnection connection() {
        if (connection == null && channel.isActive()) {
            boolean connects = channel.parent() == null;
            byte[] own = orEmpty(channel.config().getOption(RdmaChannelOption.PRIVATE_DATA));
            byte[] theirs = orEmpty(channel.peerPrivateData());
            connection =
                    new PcapIwarpConnection(
                            file,
                            PcapTcpConnection.orAny(channel.localAddress()),
                            PcapTcpConnection.orAny(channel.remoteAddress()));
            connection.opened(
                    connects ? Way.SENT : Way.RECEIVED,
                    connects ? own : theirs,
                    connects ? theirs : own);
        }
        return connection;
    }

    private static byte[] orEmpty(byte[] data) {
        return data == null ? new byte[0] : data;
    }
}
