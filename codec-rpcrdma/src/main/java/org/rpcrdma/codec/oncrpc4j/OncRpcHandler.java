// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.channels.CompletionHandler;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.dcache.oncrpc4j.rpc.OncRpcAcceptedException;
import org.dcache.oncrpc4j.rpc.OncRpcException;
import org.dcache.oncrpc4j.rpc.OncRpcProgram;
import org.dcache.oncrpc4j.rpc.OncRpcRejectedException;
import org.dcache.oncrpc4j.rpc.ReplyQueue;
import org.dcache.oncrpc4j.rpc.RpcAccepsStatus;
import org.dcache.oncrpc4j.rpc.RpcAuthError;
import org.dcache.oncrpc4j.rpc.RpcAuthStat;
import org.dcache.oncrpc4j.rpc.RpcAuthType;
import org.dcache.oncrpc4j.rpc.RpcCall;
import org.dcache.oncrpc4j.rpc.RpcDispatchable;
import org.dcache.oncrpc4j.rpc.RpcException;
import org.dcache.oncrpc4j.rpc.RpcMessageType;
import org.dcache.oncrpc4j.rpc.RpcRejectStatus;
import org.dcache.oncrpc4j.rpc.RpcReply;
import org.dcache.oncrpc4j.rpc.RpcTransport;
import org.dcache.oncrpc4j.xdr.Xdr;

/**
 * The last handler of a channel whose upper layer is written for oncrpc4j, behind {@code RpcRdmaCodec}: its programs
 * answer the peer's calls as they do on their own service, and {@link #transport()} carries calls to the peer. One for
 * each channel.
 *
 * <p>Each message is copied once, into a buffer of oncrpc4j or out of it. RPCSEC_GSS and TLS of oncrpc4j are filters of
 * Grizzly, and are not here: a call with such credentials is rejected.
 */
public final class OncRpcHandler extends SimpleChannelInboundHandler<ByteBuf> {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(OncRpcHandler.class);

    private final Map<OncRpcProgram, RpcDispatchable> programs;
    private final Executor executor;
    private final ReplyQueue replies;
    private volatile ChannelTransport transport;

    /**
     * A handler for one channel.
     *
     * @param programs as {@code OncRpcSvcBuilder.getRpcServices()} has them; empty if the peer calls nothing
     * @param executor where programs run: they may block, which an event loop must not; how many run at a time for one
     *     connection is bounded by the credits that it grants
     * @param replies where replies to calls of this side are waited for; connections may share it, and the caller
     *     ends it with {@link ReplyQueue#shutdown()}
     */
    public OncRpcHandler(
            Map<OncRpcProgram, RpcDispatchable> programs, Executor executor, ReplyQueue replies) {
        this.programs = Map.copyOf(programs);
        this.executor = executor;
        this.replies = replies;
    }

    /**
     * For calls to the peer: {@code new RpcCall(program, version, credential, transport)}. An accepting side opens the
     * reverse direction before (RFC 8167). Any thread, once this handler is in a pipeline.
     *
     * @return what stubs of oncrpc4j take; it is good as long as the connection
     * @throws IllegalStateException when it is in none yet
     */
    public RpcTransport transport() {
        RpcTransport added = transport;
        if (added == null) {
            throw new IllegalStateException("this OncRpcHandler was not added to a pipeline yet");
        }
        return added;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        transport = new ChannelTransport(ctx.channel(), replies);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        transport.lost();
        ctx.fireChannelInactive();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) throws IOException {
        // A call's buffer becomes that of its reply, and a program may keep what it has got.
        Xdr xdr = new Xdr(ByteBufUtil.getBytes(message));
        xdr.beginDecoding();
        int xid = xdr.xdrDecodeInt();
        if (xdr.xdrDecodeInt() == RpcMessageType.CALL) {
            called(new RpcCall(xid, xdr, transport));
        } else {
            replied(xid, xdr);
        }
    }

    // ------------------------------------------------------------------ calls of the peer

    /** What is wrong with the header of a call is answered from here, as RFC 5531, 9 wants it. */
    private void called(RpcCall call) {
        try {
            call.accept();
        } catch (RpcException e) {
            call.reject(e.getStatus(), e.getRpcReply());
            return;
        } catch (IOException e) {
            denied(call, RpcAuthStat.AUTH_BADCRED);
            return;
        }
        int flavor = call.getCredential().type();
        if (flavor != RpcAuthType.NONE && flavor != RpcAuthType.UNIX) {
            // Nobody has checked it.
            denied(call, RpcAuthStat.AUTH_TOOWEAK);
            return;
        }
        RpcDispatchable program =
                programs.get(new OncRpcProgram(call.getProgram(), call.getProgramVersion()));
        if (program == null) {
            unavailable(call);
            return;
        }
        try {
            executor.execute(() -> dispatch(program, call));
        } catch (RejectedExecutionException e) {
            call.failRpcSystem();
        }
    }

    private static void denied(RpcCall call, int why) {
        call.reject(RpcRejectStatus.AUTH_ERROR, new RpcAuthError(why));
    }

    /** Another version, or another program. */
    private void unavailable(RpcCall call) {
        int[] versions =
                programs.keySet().stream()
                        .filter(program -> program.getNumber() == call.getProgram())
                        .mapToInt(OncRpcProgram::getVersion)
                        .sorted()
                        .toArray();
        if (versions.length == 0) {
            call.failProgramUnavailable();
        } else {
            call.failProgramMismatch(versions[0], versions[versions.length - 1]);
        }
    }

    private static void dispatch(RpcDispatchable program, RpcCall call) {
        try {
            program.dispatchOncRpcCall(call);
        } catch (RpcException e) {
            call.reject(e.getStatus(), e.getRpcReply());
        } catch (IOException e) {
            logger.debug("{}: arguments not understood", call, e);
            call.failRpcGarbage();
        } catch (RuntimeException e) {
            logger.warn("{}: the program failed", call, e);
            call.failRpcSystem();
        }
    }

    // ------------------------------------------------------------------ replies to calls from here

    private void replied(int xid, Xdr xdr) throws IOException {
        CompletionHandler<RpcReply, RpcTransport> waiting = replies.get(xid);
        if (waiting == null) {
            return;
        }
        RpcReply reply;
        try {
            reply = new RpcReply(xid, xdr, transport);
        } catch (OncRpcException e) {
            waiting.failed(e, transport);
            return;
        }
        if (!reply.isAccepted()) {
            waiting.failed(new OncRpcRejectedException(reply.getRejectStatus()), transport);
        } else if (reply.getAcceptStatus() != RpcAccepsStatus.SUCCESS) {
            waiting.failed(new OncRpcAcceptedException(reply.getAcceptStatus()), transport);
        } else {
            waiting.completed(reply, transport);
        }
    }
}
