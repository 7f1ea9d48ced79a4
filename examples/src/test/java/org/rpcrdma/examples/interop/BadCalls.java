// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;

/**
 * Sends a responder what RFC 8166 forbids, on a channel without a codec, and expects the answers that the Linux server
 * gives (and that the RFC asks for, 4.5): an error for that call alone, or the end of the connection where memory
 * cannot be reached.
 *
 * <pre>BadCalls PORT</pre>
 */
public final class BadCalls {

    private static final int VERSION = 1;
    private static final int MSG = 0;
    private static final int NOMSG = 1;
    private static final int DONE = 3;
    private static final int ERROR = 4;
    private static final int ERR_VERS = 1;
    private static final int ERR_CHUNK = 2;
    private static final int CREDITS = 32;
    private static final int TIMEOUT_SECONDS = 30;

    /** A handle that nobody has. */
    private static final int NO_HANDLE = 0x00dead01;

    private static final ByteBuf CLOSED = Unpooled.unreleasableBuffer(Unpooled.buffer(0, 0));

    private final RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
    private final InetSocketAddress server;
    private final BlockingQueue<ByteBuf> received = new LinkedBlockingQueue<>();
    private Channel channel;
    private int xid = 0x1000;

    private BadCalls(InetSocketAddress server) {
        this.server = server;
    }

    public static void main(String[] arguments) throws Exception {
        BadCalls calls = new BadCalls(ServerProbe.loopback(arguments[0]));
        Report report = new Report(System.out);
        calls.run(report);
        calls.loops.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        System.exit(report.failed() == 0 ? 0 : 1);
    }

    private void run(Report report) throws Exception {
        report.check("a good call is answered", this::isAnswered);
        report.check("version 2: ERR_VERS, 1 to 1, echoing the version", this::otherVersion);
        report.check("version 0: ERR_VERS", () -> version(0));
        report.check(
                "an unknown procedure: ERR_CHUNK",
                () -> chunkError(header(9).writeInt(0).writeInt(0).writeInt(0)));
        report.check(
                "a Read list that never ends: ERR_CHUNK",
                () ->
                        chunkError(
                                header(MSG)
                                        .writeInt(1)
                                        .writeInt(0)
                                        .writeInt(NO_HANDLE)
                                        .writeInt(4)));
        report.check(
                "a Write list of 2^32-1 segments: ERR_CHUNK",
                () ->
                        chunkError(
                                header(MSG)
                                        .writeInt(0)
                                        .writeInt(1)
                                        .writeInt(-1)
                                        .writeLong(0)
                                        .writeLong(0)));
        report.check(
                "a list discriminator that is neither 0 nor 1: ERR_CHUNK",
                () -> chunkError(header(MSG).writeInt(7).writeInt(0).writeInt(0)));
        report.check("a header cut after its procedure: ERR_CHUNK", () -> chunkError(header(MSG)));
        report.check(
                "a Reply chunk too small for the reply: ERR_CHUNK",
                () -> {
                    ByteBuf call = header(MSG).writeInt(0).writeInt(0);
                    call.writeInt(1).writeInt(1).writeInt(NO_HANDLE).writeInt(8).writeLong(0);
                    chunkError(nullCall(call));
                });
        report.check("RDMA_DONE is ignored", () -> ignored(header(DONE)));
        report.check(
                "RDMA_ERROR from a client is ignored",
                () -> ignored(header(ERROR).writeInt(ERR_CHUNK)));
        report.check("a header shorter than any: ignored, or ERR_CHUNK", this::shortHeader);
        report.check(
                "a Read chunk in memory that nobody has: the connection ends",
                () -> {
                    ByteBuf call = header(NOMSG).writeInt(1).writeInt(0);
                    call.writeInt(NO_HANDLE).writeInt(64).writeLong(0x1000);
                    ends(call.writeInt(0).writeInt(0).writeInt(0));
                });
        report.check(
                "a Reply chunk in memory that nobody has: the connection ends",
                () -> {
                    ByteBuf call = header(MSG).writeInt(0).writeInt(0);
                    call.writeInt(1).writeInt(1).writeInt(NO_HANDLE).writeInt(4096).writeLong(0);
                    ends(nullCall(call));
                });
        report.check(
                "a Read list longer than any call: the connection ends",
                () -> {
                    ByteBuf call = header(NOMSG);
                    for (int i = 0; i < 64; i++) {
                        call.writeInt(1).writeInt(0).writeInt(NO_HANDLE).writeInt(1 << 20);
                        call.writeLong((long) i << 20);
                    }
                    ends(call.writeInt(0).writeInt(0).writeInt(0));
                });
        report.check("a good call on a new connection is answered", this::isAnswered);
        if (channel != null) {
            channel.close().sync();
        }
    }

    // ------------------------------------------------------------------ what is expected

    private void otherVersion() throws Exception {
        version(2);
    }

    private void version(int version) throws Exception {
        int sent = xid;
        ByteBuf call = header(MSG).setInt(4, version).writeInt(0).writeInt(0).writeInt(0);
        send(nullCall(call));
        ByteBuf reply = receive();
        same("XID", sent, reply.readInt());
        same("version of the answer", version, reply.readInt());
        reply.skipBytes(4);
        same("procedure", ERROR, reply.readInt());
        same("error", ERR_VERS, reply.readInt());
        same("lowest version", 1, reply.readInt());
        same("highest version", 1, reply.readInt());
        reply.release();
        isAnswered();
    }

    private void chunkError(ByteBuf message) throws Exception {
        int sent = message.getInt(0);
        send(message);
        ByteBuf reply = receive();
        same("XID", sent, reply.readInt());
        same("version of the answer", VERSION, reply.readInt());
        holds(reply.readInt() > 0, "no credits");
        same("procedure", ERROR, reply.readInt());
        same("error", ERR_CHUNK, reply.readInt());
        reply.release();
        isAnswered();
    }

    private void ignored(ByteBuf message) throws Exception {
        send(message);
        isAnswered();
    }

    /** Linux takes its words from the receive buffer, which may have old ones. */
    private void shortHeader() throws Exception {
        send(Unpooled.directBuffer().writeInt(xid++).writeInt(VERSION));
        int sent = sendNull();
        ByteBuf reply = receive();
        if (reply.getInt(12) == ERROR) {
            reply.release();
            reply = receive();
        }
        expectNullReply(reply, sent);
    }

    /** The next message that comes is the answer to this call, on the same connection if there is one. */
    private void isAnswered() throws Exception {
        int sent = sendNull();
        expectNullReply(receive(), sent);
    }

    private int sendNull() throws Exception {
        send(nullCall(header(MSG).writeInt(0).writeInt(0).writeInt(0)));
        return xid - 1;
    }

    private static void expectNullReply(ByteBuf reply, int xid) {
        same("XID", xid, reply.readInt());
        same("version", VERSION, reply.readInt());
        holds(reply.readInt() > 0, "no credits");
        same("procedure", MSG, reply.readInt());
        same("bytes of header and reply", 28 + 24 - 16, reply.readableBytes());
        reply.release();
    }

    private void ends(ByteBuf message) throws Exception {
        send(message);
        ByteBuf first = receive();
        if (first != CLOSED) { // an error may come first
            first.skipBytes(12);
            same("procedure", ERROR, first.readInt());
            first.release();
            first = receive();
        }
        same("the connection", CLOSED, first);
        channel = null;
    }

    // ------------------------------------------------------------------ messages

    private ByteBuf header(int procedure) {
        return Unpooled.directBuffer()
                .writeInt(xid++)
                .writeInt(VERSION)
                .writeInt(CREDITS)
                .writeInt(procedure);
    }

    /** Appends a call of NFSv3 NULL. */
    private static ByteBuf nullCall(ByteBuf header) {
        return header.writeInt(header.getInt(0))
                .writeInt(0)
                .writeInt(2)
                .writeInt(100003)
                .writeInt(3)
                .writeInt(0)
                .writeZero(16);
    }

    private void send(ByteBuf message) throws Exception {
        if (channel == null) {
            connect();
        }
        channel.writeAndFlush(message);
    }

    private ByteBuf receive() throws InterruptedException {
        ByteBuf message = received.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        if (message == null) {
            throw new AssertionError("nothing came");
        }
        return message;
    }

    private void connect() throws InterruptedException {
        channel =
                RpcRdmaConfig.defaults()
                        .applyTo(new Bootstrap().channel(RdmaChannel.class))
                        .group(loops)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        made.pipeline().addLast(new Receiver());
                                    }
                                })
                        .connect(server)
                        .sync()
                        .channel();
    }

    private final class Receiver extends SimpleChannelInboundHandler<ByteBuf> {

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            received.add(message.retain());
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            received.add(CLOSED);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
