// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.server.NfsServer;

/**
 * An NFS server whose replies to calls about certain names are wrong: {@code stat spoil-err-vers} has its LOOKUP
 * answered with ERR_VERS, and so on, see {@link Spoiling}. All others are right.
 *
 * <pre>SpoilingServer EXPORT KEY_FILE PORT MOUNT_PORT</pre>
 */
public final class SpoilingServer {

    private SpoilingServer() {}

    public static void main(String[] arguments) throws Exception {
        Export export = new Export(Path.of(arguments[0]), false, Path.of(arguments[1]));
        NfsServer server = new NfsServer(export);
        InetAddress any = InetAddress.getLoopbackAddress();
        server.serveNfsOverRdma(
                new InetSocketAddress(any, Integer.parseInt(arguments[2])),
                RpcRdmaConfig.defaults(),
                channel -> channel.pipeline().addLast(new Spoiler()));
        server.serveMountOverTcp(new InetSocketAddress(any, Integer.parseInt(arguments[3])));
        System.out.println("READY");
        Thread.currentThread().join();
    }

    /** What is done to a reply, which is an inline RDMA_MSG without chunks: 28 bytes of header, then the RPC reply. */
    @FunctionalInterface
    private interface Spoiling {

        /** @param reply read only; others may be written before it */
        ByteBuf[] spoil(ByteBuf reply);
    }

    private static final int HEADER = 28;
    private static final int FIXED = 16;

    private static final Map<String, Spoiling> SPOILINGS =
            Map.ofEntries(
                    Map.entry("err-vers", reply -> one(error(reply, 1).writeInt(2).writeInt(2))),
                    Map.entry("err-chunk", reply -> one(error(reply, 2))),
                    Map.entry("err-unknown", reply -> one(error(reply, 99))),
                    Map.entry("procedure", reply -> one(copy(reply).setInt(12, 7))),
                    Map.entry("nomsg", reply -> one(copy(reply).setInt(12, 1))),
                    Map.entry("read-list", reply -> one(withReadChunk(reply))),
                    Map.entry("write-lists", reply -> one(withWriteChunks(reply))),
                    Map.entry("reply-chunk", reply -> one(withReplyChunk(reply))),
                    Map.entry("version-first", reply -> before(reply, copy(reply).setInt(4, 2))),
                    Map.entry("short-first", reply -> before(reply, copy(reply).writerIndex(12))),
                    Map.entry("xid-first", reply -> before(reply, copy(reply).setInt(0, 0xdead))),
                    Map.entry("no-credits", reply -> one(copy(reply).setInt(8, 0))),
                    Map.entry("all-credits", reply -> one(copy(reply).setInt(8, -1))));

    private static ByteBuf[] one(ByteBuf message) {
        return new ByteBuf[] {message};
    }

    private static ByteBuf[] before(ByteBuf reply, ByteBuf other) {
        return new ByteBuf[] {other, copy(reply)};
    }

    private static ByteBuf copy(ByteBuf reply) {
        return Unpooled.directBuffer()
                .writeBytes(reply, reply.readerIndex(), reply.readableBytes());
    }

    private static ByteBuf fixed(ByteBuf reply) {
        return Unpooled.directBuffer().writeBytes(reply, reply.readerIndex(), FIXED);
    }

    private static ByteBuf error(ByteBuf reply, int error) {
        return fixed(reply).setInt(12, 4).writeInt(error);
    }

    private static ByteBuf withMessage(ByteBuf header, ByteBuf reply) {
        return header.writeBytes(
                reply, reply.readerIndex() + HEADER, reply.readableBytes() - HEADER);
    }

    private static ByteBuf withReadChunk(ByteBuf reply) {
        ByteBuf header = fixed(reply).writeInt(1).writeInt(0).writeInt(1).writeInt(4).writeLong(0);
        return withMessage(header.writeInt(0).writeInt(0).writeInt(0), reply);
    }

    private static ByteBuf withWriteChunks(ByteBuf reply) {
        ByteBuf header = fixed(reply).writeInt(0);
        for (int i = 0; i < 2; i++) {
            header.writeInt(1).writeInt(1).writeInt(1).writeInt(4).writeLong(0);
        }
        return withMessage(header.writeInt(0).writeInt(0), reply);
    }

    private static ByteBuf withReplyChunk(ByteBuf reply) {
        ByteBuf header = fixed(reply).writeInt(0).writeInt(0);
        header.writeInt(1).writeInt(1).writeInt(1).writeInt(64).writeLong(0);
        return withMessage(header, reply);
    }

    /** Stands before the codec: it sees whole Sends. */
    private static final class Spoiler extends ChannelDuplexHandler {

        private final Map<Integer, Spoiling> spoiled = new HashMap<>();

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof ByteBuf call && call.readableBytes() > HEADER) {
                String text = call.toString(StandardCharsets.ISO_8859_1);
                int at = text.indexOf("spoil-");
                if (at >= 0) {
                    String rest = text.substring(at + "spoil-".length());
                    SPOILINGS.forEach(
                            (name, spoiling) -> {
                                if (rest.replace("\0", "").equals(name)) {
                                    spoiled.put(call.getInt(call.readerIndex()), spoiling);
                                }
                            });
                }
            }
            context.fireChannelRead(message);
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            ByteBuf reply =
                    message instanceof ByteBufHolder holder
                            ? holder.content()
                            : message instanceof ByteBuf bytes ? bytes : Unpooled.EMPTY_BUFFER;
            Spoiling spoiling =
                    reply.readableBytes() > HEADER
                            ? spoiled.remove(reply.getInt(reply.readerIndex()))
                            : null;
            if (spoiling == null) {
                context.write(message, promise);
                return;
            }
            ByteBuf[] messages = spoiling.spoil(reply);
            ReferenceCountUtil.release(message);
            for (int i = 0; i < messages.length - 1; i++) {
                context.write(messages[i]);
            }
            context.write(messages[messages.length - 1], promise);
        }
    }
}
