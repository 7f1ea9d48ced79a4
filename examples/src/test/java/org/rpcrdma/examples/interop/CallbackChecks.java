// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Nfs4Session.expect;
import static org.rpcrdma.examples.interop.Report.holds;
import static org.rpcrdma.examples.interop.Report.same;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.examples.common.Xdr;

/**
 * The backchannel of NFSv4.1 (RFC 8881, 2.10.3.1) on a client's own RDMA connection (RFC 8167): the server recalls a
 * delegation when somebody else opens the file for writing.
 */
final class CallbackChecks {

    private static final int CLOSE = 4;
    private static final int DELEGRETURN = 8;
    private static final int GETFH = 10;
    private static final int OPEN = 18;
    private static final int PUTFH = 22;

    private static final int READ_ACCESS = 1;
    private static final int WRITE_ACCESS = 2;
    private static final int READ_DELEGATION = 1;
    private static final int NFS4ERR_DELAY = 10008;
    private static final int STATE_ID = 16;
    private static final int LONGEST_HANDLE = 128;

    /** SEQ4_STATUS_CB_PATH_DOWN, SEQ4_STATUS_CB_PATH_DOWN_SESSION and SEQ4_STATUS_BACKCHANNEL_FAULT. */
    private static final int BACK_CHANNEL_TROUBLE = 0x1 | 0x200 | 0x400;

    private static final int PATIENCE_SECONDS = 60;
    private static final int TRIES = 300;
    private static final int PAUSE_MILLIS = 200;

    private final RdmaEventLoopGroup loops;
    private final InetSocketAddress server;
    private final BlockingQueue<byte[]> recalled = new LinkedBlockingQueue<>();
    private final RpcRdmaConfig config =
            RpcRdmaConfig.builder().reverseCredits(16).build(); // as the Linux client

    private final byte[] delegation = new byte[STATE_ID];
    private byte[] handle;

    CallbackChecks(RdmaEventLoopGroup loops, InetSocketAddress server) {
        this.loops = loops;
        this.server = server;
    }

    /** @param file to be opened; it exists */
    void run(Report report, String file) throws Exception {
        RpcRdmaClient reader =
                RpcRdmaClient.builder(loops, server)
                        .config(config)
                        .reverseProgram(Callbacks::new)
                        .keepConnected(true)
                        .build();
        RpcRdmaClient writer = RpcRdmaClient.builder(loops, server).build();
        Nfs4Session reading = new Nfs4Session(new Peer(reader), "reader");
        Nfs4Session writing = new Nfs4Session(new Peer(writer), "writer");
        report.check(
                "NFSv4.1 CREATE_SESSION with a backchannel",
                () -> {
                    reading.open(Nfs4Session.BACK_CHANNEL);
                    writing.open(0);
                });
        report.check("NFSv4.1 OPEN gets a delegation", () -> openForReading(reading, file));
        report.check(
                "the server recalls it over the client's connection",
                () -> recall(reader, reading, writing, file));
        report.check("the backchannel is well after that", () -> isWell(reading));
        report.check(
                "the backchannel's sessions end",
                () -> {
                    reading.close();
                    writing.close();
                    reader.closeAsync().get();
                    writer.closeAsync().get();
                });
    }

    /** OPEN with CLAIM_NULL (RFC 8881, 18.16); the results are at its status. */
    private static ByteBuf open(Nfs4Session session, String file, int access) throws Exception {
        ByteBuf results =
                session.call(
                        2,
                        call -> {
                            call.writeInt(OPEN).writeInt(0).writeInt(access).writeInt(0);
                            call.writeLong(session.client());
                            Xdr.writeString(call, "owner");
                            call.writeInt(0).writeInt(0);
                            Xdr.writeString(call, file);
                            call.writeInt(GETFH);
                        });
        same("operation", OPEN, results.readInt());
        return results;
    }

    /** Right after its start the server delegates nothing: its clients could have locks to reclaim. */
    private void openForReading(Nfs4Session session, String file) throws Exception {
        int tries = 0;
        while (!isDelegated(session, file)) {
            holds(++tries < TRIES, "no delegation in " + TRIES + " tries");
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
    }

    private boolean isDelegated(Nfs4Session session, String file) throws Exception {
        ByteBuf results = open(session, file, READ_ACCESS);
        try {
            same("status of OPEN", 0, results.readInt());
            results.skipBytes(STATE_ID + 4 + 8 + 8 + 4);
            results.skipBytes(4 * results.readInt());
            if (results.readInt() != READ_DELEGATION) {
                return false;
            }
            results.readBytes(delegation);
            results.skipBytes(4 + 3 * 4);
            Xdr.readString(results, LONGEST_HANDLE);
            expect(results, GETFH);
            handle = Xdr.readOpaque(results, LONGEST_HANDLE);
            return true;
        } finally {
            results.release();
        }
    }

    private void recall(RpcRdmaClient reader, Nfs4Session reading, Nfs4Session writing, String file)
            throws Exception {
        RpcRdmaConnection connection = reader.openConnections().get(0);
        ByteBuf refused = open(writing, file, WRITE_ACCESS);
        same("status of a conflicting OPEN", NFS4ERR_DELAY, refused.readInt());
        refused.release();
        byte[] state = recalled.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        holds(state != null, "no CB_RECALL has come");
        holds(Arrays.equals(delegation, state), "another stateid was recalled");
        ByteBuf results =
                reading.call(
                        2,
                        call -> {
                            call.writeInt(PUTFH);
                            Xdr.writeOpaque(call, handle);
                            call.writeInt(DELEGRETURN).writeBytes(delegation);
                        });
        expect(results, PUTFH);
        expect(results, DELEGRETURN);
        results.release();
        ByteBuf opened = open(writing, file, WRITE_ACCESS);
        same("status of OPEN after the recall", 0, opened.readInt());
        byte[] state2 = new byte[STATE_ID];
        opened.readBytes(state2);
        opened.release();
        close(writing, file, state2);
        holds(
                connection.value(RpcRdmaCounter.CALLS_RECEIVED) > 0,
                "the recall came on another connection");
    }

    private static void close(Nfs4Session session, String file, byte[] state) throws Exception {
        ByteBuf results =
                session.call(
                        2,
                        call -> {
                            call.writeInt(15); // LOOKUP
                            Xdr.writeString(call, file);
                            call.writeInt(CLOSE).writeInt(0).writeBytes(state);
                        });
        expect(results, 15);
        expect(results, CLOSE);
        results.release();
    }

    private static void isWell(Nfs4Session session) throws Exception {
        session.call(0, call -> {}).release();
        same(
                "sr_status_flags about the backchannel",
                0,
                session.statusFlags() & BACK_CHANNEL_TROUBLE);
    }

    /** NFS4_CALLBACK version 1 (RFC 8881, 20): CB_NULL, and CB_COMPOUND of CB_SEQUENCE and CB_RECALL. */
    private final class Callbacks extends SimpleChannelInboundHandler<ByteBuf> {

        private static final int CB_RECALL = 4;
        private static final int CB_SEQUENCE = 11;
        private static final int SESSION_ID = 16;
        private static final int NFS4ERR_NOTSUPP = 10004;
        private static final int LONGEST = 400;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            int xid = call.readInt();
            call.skipBytes(8);
            int program = call.readInt();
            call.skipBytes(4);
            int procedure = call.readInt();
            for (int i = 0; i < 2; i++) {
                call.skipBytes(4);
                Xdr.readOpaque(call, LONGEST);
            }
            boolean isKnown = program == Nfs4Session.CALLBACK_PROGRAM;
            ByteBuf reply = Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(0).writeLong(0);
            reply.writeInt(isKnown ? 0 : 1);
            if (isKnown && procedure == 1) {
                compound(call, reply);
            }
            ctx.writeAndFlush(reply);
        }

        private void compound(ByteBuf call, ByteBuf reply) {
            byte[] tag = Xdr.readOpaque(call, LONGEST);
            call.skipBytes(4 + 4);
            int operations = call.readInt();
            int status = reply.writerIndex();
            reply.writeInt(0);
            Xdr.writeOpaque(reply, tag);
            int count = reply.writerIndex();
            reply.writeInt(operations);
            for (int i = 0; i < operations; i++) {
                int operation = call.readInt();
                reply.writeInt(operation);
                if (operation == CB_SEQUENCE) {
                    reply.writeInt(0).writeBytes(call, SESSION_ID);
                    int sequence = call.readInt();
                    int slot = call.readInt();
                    int highest = call.readInt();
                    reply.writeInt(sequence).writeInt(slot).writeInt(highest).writeInt(highest);
                    call.skipBytes(4 + 4); // cachethis, and no referring calls
                } else if (operation == CB_RECALL) {
                    byte[] state = new byte[STATE_ID];
                    call.readBytes(state).skipBytes(4);
                    Xdr.readOpaque(call, LONGEST_HANDLE);
                    reply.writeInt(0);
                    recalled.add(state);
                } else {
                    reply.writeInt(NFS4ERR_NOTSUPP);
                    reply.setInt(status, NFS4ERR_NOTSUPP).setInt(count, i + 1);
                    return;
                }
            }
        }
    }
}
