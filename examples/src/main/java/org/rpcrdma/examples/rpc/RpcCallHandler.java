// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives calls on a TCP connection their XIDs and brings them together with their replies. One per channel; runs on its
 * event loop.
 */
final class RpcCallHandler extends ChannelDuplexHandler {

    private static final Logger LOG = LoggerFactory.getLogger(RpcCallHandler.class);

    private static final int REPLY = 1;

    /** A whole call on its way into the pipeline, which the pipeline releases. */
    record Call(ByteBuf message, long timeoutMillis, Promise<ByteBuf> reply) {}

    private record Pending(Call call, Future<?> timer) {}

    private final IntObjectHashMap<Pending> pending = new IntObjectHashMap<>();
    private int nextXid = ThreadLocalRandom.current().nextInt();

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof Call call)) {
            ctx.write(message, promise);
            return;
        }
        int xid = nextXid++;
        ByteBuf encoded = call.message();
        encoded.setInt(encoded.readerIndex(), xid);
        Future<?> timer =
                ctx.executor()
                        .schedule(() -> timeOut(xid), call.timeoutMillis(), TimeUnit.MILLISECONDS);
        pending.put(xid, new Pending(call, timer));
        promise.addListener((ChannelFuture written) -> fail(xid, written.cause()));
        ctx.write(encoded, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf reply = (ByteBuf) message;
        Pending answered =
                reply.readableBytes() >= 8 && reply.getInt(reply.readerIndex() + 4) == REPLY
                        ? pending.remove(reply.getInt(reply.readerIndex()))
                        : null;
        if (answered == null) {
            LOG.debug("{} sent a reply that no call waits for", ctx.channel());
            reply.release();
            return;
        }
        answered.timer().cancel(false);
        if (!answered.call().reply().trySuccess(reply)) {
            reply.release();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        failAll(new RpcException("the server has closed the connection"));
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failAll(new RpcException("the connection has failed: " + cause.getMessage(), cause));
        ctx.close();
    }

    private void timeOut(int xid) {
        Pending late = pending.remove(xid);
        if (late != null) {
            late.call()
                    .reply()
                    .tryFailure(
                            new RpcException(
                                    "no answer within " + late.call().timeoutMillis() + " ms"));
        }
    }

    private void fail(int xid, Throwable cause) {
        Pending failed = cause == null ? null : pending.remove(xid);
        if (failed != null) {
            failed.timer().cancel(false);
            failed.call().reply().tryFailure(cause);
        }
    }

    private void failAll(RpcException cause) {
        List<Pending> lost = new ArrayList<>(pending.values());
        pending.clear();
        for (Pending call : lost) {
            call.timer().cancel(false);
            call.call().reply().tryFailure(cause);
        }
    }
}
