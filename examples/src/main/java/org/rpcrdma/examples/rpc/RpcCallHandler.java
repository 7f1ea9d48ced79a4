// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
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
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaFailure;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives calls their XIDs and brings them together with their replies. It is the same over TCP and over RDMA: whole RPC
 * messages pass. One per channel; runs on its event loop.
 */
final class RpcCallHandler extends ChannelDuplexHandler {

    private static final Logger LOG = LoggerFactory.getLogger(RpcCallHandler.class);

    private static final int CALL = 0;
    private static final int REPLY = 1;
    private static final int RPC_VERSION = 2;

    /** Without the body of the credential. */
    private static final int HEADER_LENGTH = 40;

    /** A call on its way into the pipeline. The arguments belong to it. */
    record Call(
            int program,
            int version,
            int procedure,
            RpcCredential credential,
            ByteBuf arguments,
            long timeoutMillis,
            Promise<ByteBuf> result) {}

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
        ByteBuf encoded = prepend(ctx, call, xid);
        Future<?> timer =
                ctx.executor()
                        .schedule(
                                () -> timeOut(ctx, xid),
                                call.timeoutMillis(),
                                TimeUnit.MILLISECONDS);
        pending.put(xid, new Pending(call, timer));
        promise.addListener((ChannelFuture written) -> fail(xid, written.cause()));
        ctx.write(encoded, promise);
    }

    /** One buffer, if the arguments have the room: the transport can then take large data from where they are. */
    private static ByteBuf prepend(ChannelHandlerContext ctx, Call call, int xid) {
        ByteBuf arguments = call.arguments();
        int length = HEADER_LENGTH + call.credential().length();
        int start = arguments.readerIndex() - length;
        if (start >= 0) {
            writeHeader(arguments.slice(start, length).writerIndex(0), call, xid);
            return arguments.readerIndex(start);
        }
        ByteBuf header = ctx.alloc().buffer(length);
        writeHeader(header, call, xid);
        return Unpooled.wrappedBuffer(header, arguments);
    }

    private static void writeHeader(ByteBuf header, Call call, int xid) {
        header.writeInt(xid).writeInt(CALL).writeInt(RPC_VERSION);
        header.writeInt(call.program()).writeInt(call.version()).writeInt(call.procedure());
        call.credential().writeTo(header);
        RpcCredential.NONE.writeTo(header);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf reply) {
            try {
                receive(ctx, reply);
            } finally {
                reply.release();
            }
        } else if (message instanceof RpcRdmaFailure failure) {
            fail(failure.xid(), failure.cause());
        } else {
            ctx.fireChannelRead(message);
        }
    }

    private void receive(ChannelHandlerContext ctx, ByteBuf reply) {
        if (reply.readableBytes() < 8) {
            LOG.info("{} sent a message of {} bytes", ctx.channel(), reply.readableBytes());
            return;
        }
        int xid = reply.readInt();
        Pending answered = reply.readInt() == REPLY ? pending.remove(xid) : null;
        if (answered == null) {
            LOG.debug("{} sent a reply that no call waits for", ctx.channel());
            return;
        }
        answered.timer().cancel(false);
        Promise<ByteBuf> result = answered.call().result();
        try {
            RpcReplyHeader.skip(reply, answered.call());
            ByteBuf results = reply.readRetainedSlice(reply.readableBytes());
            if (!result.trySuccess(results)) {
                results.release();
            }
        } catch (RpcException e) {
            result.tryFailure(e);
        } catch (IndexOutOfBoundsException e) {
            result.tryFailure(new RpcException("the server's reply ends too early", e));
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

    private void timeOut(ChannelHandlerContext ctx, int xid) {
        Pending late = pending.remove(xid);
        if (late == null) {
            return;
        }
        if (RpcRdmaConnection.of(ctx.channel()) != null) {
            // The server must not write into memory that may be used for something else.
            ctx.writeAndFlush(new RpcRdmaCancel(xid));
        }
        late.call()
                .result()
                .tryFailure(
                        new RpcTimeoutException(
                                "no answer within " + late.call().timeoutMillis() + " ms"));
    }

    private void fail(int xid, Throwable cause) {
        Pending failed = cause == null ? null : pending.remove(xid);
        if (failed != null) {
            failed.timer().cancel(false);
            failed.call().result().tryFailure(cause);
        }
    }

    private void failAll(RpcException cause) {
        List<Pending> lost = new ArrayList<>(pending.values());
        pending.clear();
        for (Pending call : lost) {
            call.timer().cancel(false);
            call.call().result().tryFailure(cause);
        }
    }
}
