// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Between the codec of a fuzzed connection and its device: counts what passes, and keeps an account of credits and of
 * exposed memory of its own.
 */
final class FuzzWire extends ChannelDuplexHandler {

    /** The memory of a call. */
    private record Exposed(int xid, List<Integer> handles) {}

    private final FuzzRun run;
    private final TransportHeader header = new TransportHeader();
    private final List<Exposed> exposed = new ArrayList<>();
    private final Queue<Boolean> areCalls = new ArrayDeque<>();
    private RdmaChannel channel;
    long sent;
    long received;
    int pending;
    boolean isInactive;
    String reasonToClose;
    private long callsSeen;

    FuzzWire(FuzzRun run) {
        this.run = run;
    }

    RdmaChannel channel() {
        return channel;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        channel = (RdmaChannel) ctx.channel();
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        ctx.fireChannelActive();
        run.poke();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        isInactive = true;
        run.poke();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        received++;
        ctx.fireChannelRead(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        run.poke();
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ByteBuf send =
                message instanceof RdmaSendWithInvalidate invalidating
                        ? invalidating.content()
                        : message instanceof ByteBuf buffer ? buffer : null;
        if (send != null) {
            sent++;
            account(send);
        }
        checkHandle(message);
        pending++;
        boolean isRead = message instanceof RdmaRead;
        ctx.write(
                message,
                promise.unvoid()
                        .addListener(
                                done -> {
                                    pending--;
                                    if (!done.isSuccess() && channel.isActive()) {
                                        reasonToClose =
                                                (isRead ? "RDMA Read: " : "work request: ")
                                                        + done.cause();
                                    }
                                    if (!done.isSuccess() && !isOfTheDevice(done.cause())) {
                                        run.problem("work that was not posted", done.cause());
                                    }
                                    run.poke();
                                }));
    }

    /** Only handles that the peer has named are used; that they are good ones is for the peer to see to. */
    private void checkHandle(Object message) {
        FuzzPeer peer = run.peer();
        if (message instanceof RdmaSendWithInvalidate send) {
            checkNamed(peer, send.invalidateHandle());
            if (!peer.channel().isExposed(send.invalidateHandle())) {
                reasonToClose = "Send With Invalidate of a handle that the peer has not";
            }
        } else if (message instanceof RdmaWrite write) {
            checkNamed(peer, write.handle());
            int length = write.content().readableBytes();
            if (!peer.takesWrite(write.handle(), write.offset(), length)) {
                reasonToClose = "RDMA Write to where the peer has nothing";
            }
        } else if (message instanceof RdmaRead read) {
            checkNamed(peer, read.handle());
        }
    }

    private void checkNamed(FuzzPeer peer, int handle) {
        if (!peer.hasNamed(handle)) {
            run.problem("handle that nobody has named: " + handle);
        }
    }

    private static boolean isOfTheDevice(Throwable cause) {
        return cause instanceof WorkRequestFailedException
                || cause instanceof ClosedChannelException;
    }

    private void account(ByteBuf send) {
        int at = send.readerIndex();
        header.decodeFixed(send, at);
        boolean hasLists =
                header.proc() == TransportHeader.RDMA_MSG
                        || header.proc() == TransportHeader.RDMA_NOMSG;
        if (!hasLists) {
            header.clear();
        } else if (header.decodeLists(send, at + 16, send.writerIndex(), 4096) < 0) {
            run.problem("message with " + header.problem());
            areCalls.add(false);
            return;
        }
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        long out =
                connection.value(RpcRdmaCounter.CALLS_SENT)
                        - connection.value(RpcRdmaCounter.REPLIES_RECEIVED)
                        - connection.value(RpcRdmaCounter.ERRORS_RECEIVED);
        long limit = Math.min(connection.creditsGranted(), run.requested());
        boolean isCall = isNewCall(connection);
        areCalls.add(isCall);
        if (isCall && out > limit) {
            run.problem(out + " calls out (expected: at most " + limit + ')');
        }
        List<Integer> handles = new ArrayList<>();
        add(header.reads(), handles);
        add(header.writes(), handles);
        add(header.reply(), handles);
        if (isCall && !handles.isEmpty()) {
            exposed.add(new Exposed(header.xid(), handles));
        }
    }

    /**
     * Whether the oldest message that was not asked for yet is a call: in version 1 a long one may look like a reply.
     */
    boolean isNextCall() {
        Boolean next = areCalls.poll();
        return next != null && next;
    }

    /** The call whose message this is has just become one that was sent. */
    private boolean isNewCall(RpcRdmaConnection connection) {
        long calls = connection.value(RpcRdmaCounter.CALLS_SENT);
        boolean isNew = calls > callsSeen;
        callsSeen = calls;
        return isNew;
    }

    /** The handles of this side. */
    private void add(SegmentList list, List<Integer> handles) {
        for (int i = 0; i < list.segments(); i++) {
            if (channel.isExposed(list.handle(i))) {
                handles.add(list.handle(i));
            }
        }
    }

    /** Nobody reaches the memory of a call that is over (RFC 8166, 4.4.1). */
    void checkFenced() {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        for (Exposed call : exposed) {
            if (connection.call(call.xid) == null) {
                checkFenced(call);
            }
        }
    }

    void checkFenced(int xid) {
        exposed.stream().filter(call -> call.xid == xid).forEach(this::checkFenced);
    }

    private void checkFenced(Exposed call) {
        for (int handle : call.handles) {
            if (channel.isExposed(handle)) {
                run.problem("memory of call " + call.xid + " can be reached when it is over");
            }
        }
    }
}
