// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.examples.common.Xdr;

/**
 * So much of an NFSv4.1 server that a Linux client makes a session with a backchannel (RFC 8881, 18.36), and then calls
 * this client back over the connection that it has made. The mount itself is refused after that.
 *
 * <pre>CallingServer PORT</pre>
 */
public final class CallingServer {

    private static final int EXCHANGE_ID = 42;
    private static final int CREATE_SESSION = 43;
    private static final int SEQUENCE = 53;
    private static final int CB_SEQUENCE = 11;

    private static final int USE_NON_PNFS = 0x10000;
    private static final int NFS4ERR_PERM = 1;
    private static final int NFS4ERR_DELAY = 10008;
    private static final int CHANNEL_WORDS = 6;
    private static final int SESSION_ID = 16;
    private static final int TAG_MAX = 1024;

    private static final int CALLS = 40;
    private static final int PATIENCE_SECONDS = 60;

    /** One at a time: with more Linux 6.1 loses a call now and then, and answers another one twice. */
    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.builder().reverseCredits(1).build();

    /** A client whose session has a backchannel. */
    private record Client(
            RpcRdmaReverseRequester callback, RpcRdmaConnection connection, int program) {}

    private final BlockingQueue<Client> clients = new LinkedBlockingQueue<>();

    /** What the client does with its session waits until the checks are over: its mount ends with it. */
    private final List<Runnable> held = new CopyOnWriteArrayList<>();

    private CallingServer() {}

    public static void main(String[] arguments) throws Exception {
        CallingServer server = new CallingServer();
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(loops)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(new RpcRdmaCodec(CONFIG))
                                                .addLast(server.new Calls());
                                    }
                                });
        CONFIG.applyTo(bootstrap).bind(ServerProbe.loopback(arguments[0])).sync();
        System.out.println("READY");
        Client client = server.clients.poll(3 * PATIENCE_SECONDS, TimeUnit.SECONDS);
        Report report = new Report(System.out);
        report.check(
                "the Linux client makes a session with a backchannel",
                () -> holds(client != null, "no client has come"));
        if (client != null) {
            checkCalls(report, client);
            server.held.forEach(Runnable::run);
        }
        loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        System.exit(report.failed() == 0 ? 0 : 1);
    }

    private static void checkCalls(Report report, Client client) {
        report.check(
                "CB_NULL over the client's connection",
                () -> await(client.callback.call(Peer.nobody(client.program, 1, 0))).release());
        report.check(CALLS + " of them, one after the other", () -> callOften(client));
        report.check(
                "CB_COMPOUND with CB_SEQUENCE",
                () -> {
                    ByteBuf results = await(client.callback.call(sequence(client.program)));
                    int status = results.readInt();
                    results.release();
                    // Its session is ready only when the rest of its mount has gone on.
                    holds(status == 0 || status == NFS4ERR_DELAY, "status " + status);
                });
        report.check(
                "a program that the client does not have",
                () -> {
                    ByteBuf reply = reply(client.callback.call(Peer.nobody(0x40000999, 1, 0)));
                    same("reply_stat", 0, reply.getInt(reply.readerIndex() + 8));
                    same("accept_stat PROG_UNAVAIL", 1, reply.getInt(reply.readerIndex() + 20));
                    reply.release();
                });
        report.check(
                "the backchannel is well after that",
                () -> {
                    same("state", RpcRdmaReverseRequester.State.UP, client.callback.state());
                    same("errors", 0L, client.connection.value(RpcRdmaCounter.ERRORS_RECEIVED));
                    same("credits of 0", 0L, client.connection.value(RpcRdmaCounter.ZERO_GRANTS));
                    same("credits", 16L, client.connection.creditsGranted());
                    same(
                            "replies without a call",
                            0L,
                            client.connection.value(RpcRdmaCounter.DROPPED_UNKNOWN_XID));
                });
    }

    private static void callOften(Client client) throws Exception {
        List<Future<ByteBuf>> replies = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            replies.add(client.callback.call(Peer.nobody(client.program, 1, 0)));
        }
        for (Future<ByteBuf> reply : replies) {
            await(reply).release();
        }
    }

    /** RFC 8881, 20.9. */
    private static ByteBuf sequence(int program) {
        ByteBuf call = Peer.call(program, 1, 1);
        Xdr.writeString(call, "");
        call.writeInt(1).writeInt(0).writeInt(1).writeInt(CB_SEQUENCE);
        call.writeZero(SESSION_ID - 1).writeByte(7);
        return call.writeInt(1).writeInt(0).writeInt(0).writeInt(0).writeInt(0);
    }

    private static ByteBuf reply(Future<ByteBuf> reply) throws Exception {
        return reply.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** The results of an accepted reply. */
    private static ByteBuf await(Future<ByteBuf> reply) throws Exception {
        return Peer.skipHeader(reply(reply));
    }

    /** What the client sends before it has mounted anything. */
    private final class Calls extends SimpleChannelInboundHandler<ByteBuf> {

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            ByteBuf reply =
                    Unpooled.directBuffer().writeInt(call.readInt()).writeInt(1).writeZero(16);
            call.skipBytes(16);
            int procedure = call.readInt();
            for (int i = 0; i < 2; i++) { // credential and verifier
                call.skipBytes(4);
                Xdr.readOpaque(call, TAG_MAX);
            }
            boolean isHeld = procedure != 0 && compound(ctx.channel(), call, reply) == SEQUENCE;
            if (isHeld) {
                held.add(() -> ctx.channel().writeAndFlush(reply));
            } else {
                ctx.writeAndFlush(reply);
            }
        }

        private int compound(Channel channel, ByteBuf call, ByteBuf reply) {
            int status = reply.writerIndex();
            reply.writeInt(0);
            Xdr.writeString(reply, Xdr.readString(call, TAG_MAX));
            call.skipBytes(8); // minor version, number of operations
            int operation = call.readInt();
            reply.writeInt(1).writeInt(operation).writeInt(0);
            switch (operation) {
                case EXCHANGE_ID -> exchangeId(reply);
                case CREATE_SESSION -> createSession(channel, call, reply);
                case SEQUENCE -> refuse(call, reply, status);
                default -> {}
            }
            return operation;
        }

        private void exchangeId(ByteBuf reply) {
            reply.writeLong(7).writeInt(1).writeInt(USE_NON_PNFS).writeInt(0);
            reply.writeLong(0);
            Xdr.writeString(reply, "calling-server");
            Xdr.writeString(reply, "calling-server");
            reply.writeInt(0);
        }

        /** Everything as the client wants it; its session is ready when it has the reply. */
        private void createSession(Channel channel, ByteBuf call, ByteBuf reply) {
            call.skipBytes(8);
            int sequence = call.readInt();
            int flags = call.readInt();
            reply.writeZero(SESSION_ID - 1).writeByte(7);
            reply.writeInt(sequence).writeInt(flags & Nfs4Session.BACK_CHANNEL);
            for (int i = 0; i < 2; i++) { // the two channels' attributes
                reply.writeBytes(call, 4 * CHANNEL_WORDS);
                call.skipBytes(4 * call.readInt());
                reply.writeInt(0);
            }
            int program = call.readInt();
            RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
            channel.eventLoop()
                    .execute(
                            () ->
                                    clients.add(
                                            new Client(
                                                    RpcRdmaReverseRequester.builder(CONFIG)
                                                            .attachTo(channel),
                                                    connection,
                                                    program)));
        }

        /** SEQUENCE succeeds, and so does RECLAIM_COMPLETE behind it; whoever wants the root is refused. */
        private void refuse(ByteBuf call, ByteBuf reply, int status) {
            reply.writeBytes(call, SESSION_ID + 8); // session, sequence and slot
            int highest = call.readInt();
            reply.writeInt(highest).writeInt(highest).writeInt(0);
            call.skipBytes(4);
            if (call.isReadable()) {
                int operation = call.readInt();
                boolean isRoot = operation == 24;
                reply.setInt(status, isRoot ? NFS4ERR_PERM : 0);
                int count = status + 4;
                count += 4 + ((reply.getInt(count) + 3) & ~3);
                reply.setInt(count, 2);
                reply.writeInt(operation).writeInt(isRoot ? NFS4ERR_PERM : 0);
            }
        }
    }
}
