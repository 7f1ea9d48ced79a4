// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Has a program execute its calls on other threads. Each call that was admitted is executed. Netty's own way, an
 * executor for the handler, never delivers what has not got to the handler when the connection is lost: then the
 * duplicate request cache would wait in vain for the answer to such a call.
 */
final class ProgramThreads extends ChannelInboundHandlerAdapter {

    private final Executor threads;
    private final ChannelInboundHandler program;

    ProgramThreads(Executor threads, ChannelInboundHandler program) {
        this.threads = threads;
        this.program = program;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object call) {
        try {
            threads.execute(
                    () -> {
                        try {
                            program.channelRead(ctx, call);
                        } catch (Exception e) {
                            ctx.fireExceptionCaught(e);
                        }
                    });
        } catch (RejectedExecutionException e) {
            ReferenceCountUtil.release(call); // the server is closed
        }
    }
}
