// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import org.apache.hadoop.oncrpc.RpcAcceptedReply;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcProgram;
import org.apache.hadoop.oncrpc.RpcResponse;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.VerifierNone;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.benchmarks.Transport;

/** A program of Hadoop's oncrpc in the pipeline of its server. Results are made in its XDR, on the heap. */
final class HadoopSide extends RpcSide {

    HadoopSide(Tools tools) {
        super(Transport.NIO, tools);
    }

    @Override
    public String listen() throws Exception {
        RpcProgram program = new Nfs();
        ChannelInitializer<Channel> pipeline =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(
                                        RpcUtil.constructRpcFrameDecoder(),
                                        RpcUtil.STAGE_RPC_MESSAGE_PARSER,
                                        program,
                                        RpcUtil.STAGE_RPC_TCP_RESPONSE);
                    }
                };
        return bind(transport, transport.bareServer(tools.group(), pipeline), tools);
    }

    @Sharable
    private static final class Nfs extends RpcProgram {

        private static final int HEAD = 256;

        private final byte[] file = new byte[1 << 20];

        Nfs() {
            super(
                    "nfs",
                    "localhost",
                    0,
                    Nfs3Messages.NFS_PROGRAM,
                    Nfs3Messages.NFS_V3,
                    Nfs3Messages.NFS_V3,
                    null,
                    true);
        }

        @Override
        protected void handleInternal(ChannelHandlerContext ctx, RpcInfo info) {
            RpcCall call = (RpcCall) info.header();
            int count = 0;
            if (call.getProcedure() == Nfs3Messages.PROCEDURE_READ) {
                int at = Nfs3Messages.COUNT_OFFSET - Nfs3Messages.CALL_HEADER_LENGTH;
                count = info.data().getInt(info.data().readerIndex() + at);
            }
            XDR reply =
                    RpcAcceptedReply.getInstance(
                                    call.getXid(), AcceptState.SUCCESS, VerifierNone.INSTANCE)
                            .write(new XDR(HEAD + count));
            if (call.getProcedure() == Nfs3Messages.PROCEDURE_READ) {
                reply.writeInt(0);
                reply.writeBoolean(false);
                reply.writeInt(count);
                reply.writeBoolean(true);
                reply.writeInt(count);
                reply.writeFixedOpaque(file, count);
            }
            RpcUtil.sendRpcResponse(
                    ctx,
                    new RpcResponse(
                            Unpooled.wrappedBuffer(reply.asReadOnlyWrap().buffer()),
                            info.remoteAddress()));
        }

        @Override
        protected boolean isIdempotent(RpcCall call) {
            return true;
        }
    }
}
