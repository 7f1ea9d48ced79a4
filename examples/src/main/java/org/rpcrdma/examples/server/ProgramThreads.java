// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.RpcInfo;

/**
 * Has a program execute its calls on other threads. Each call that was admitted is executed. Netty's own way, an
 * executor for the handler, never delivers what has not got to the handler when the connection is lost: then the
 * duplicate request cache would wait in vain for the answer to such a call.
 */
final class ProgramThreads extends ChannelInboundHandlerAdapter {

    private final FailureLog failures = new FailureLog();
    private final Executor threads;
    private final ChannelInboundHandler program;

    ProgramThreads(Executor threads, ChannelInboundHandler program) {
        this.threads = threads;
        this.program = program;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object call) {
        try {
            threads.execute(() -> execute(ctx, call));
        } catch (RejectedExecutionException e) {
            ReferenceCountUtil.release(call); // the server is closed
        }
    }

    /** Whatever a program throws, a want of memory included, its caller is told: otherwise it would wait for ever. */
    private void execute(ChannelHandlerContext ctx, Object call) {
        try {
            program.channelRead(ctx, call);
        } catch (Throwable t) {
            failures.warn("A call of " + ctx.channel(), t);
            if (call instanceof RpcInfo info && info.header() instanceof RpcCall header) {
                refuse(ctx, header);
            } else {
                ctx.fireExceptionCaught(t);
            }
        }
    }

    private static void refuse(ChannelHandlerContext ctx, RpcCall call) {
        try {
            RpcReplyWriter.send(
                    ctx.channel(), Nfs3Program.accepted(call.getXid(), AcceptState.SYSTEM_ERR));
        } catch (Throwable t) {
            ctx.fireExceptionCaught(t);
        }
    }
}
