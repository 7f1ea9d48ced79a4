// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
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
import org.rpcrdma.codec.CallFailureMessage;
import org.rpcrdma.codec.internal.DroppedCallListener;

/**
 * The last handler of a channel whose upper layer is written for oncrpc4j, behind {@code RpcRdmaCodec}: its programs
 * answer the peer's calls as they do on their own service, and {@link #transport()} carries calls to the peer. One for
 * each channel.
 *
 * <p>Each message is copied once, into a buffer of oncrpc4j or out of it. RPCSEC_GSS and TLS of oncrpc4j are filters of
 * Grizzly, and are not here: a call with such credentials is rejected.
 */
public final class OncRpcHandler extends ChannelInboundHandlerAdapter {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(OncRpcHandler.class);

    private final Map<OncRpcProgram, RpcDispatchable> programs;
    private final Executor executor;
    private final ResponderQueuedCalls queued = new ResponderQueuedCalls();
    private volatile ChannelTransport transport;

    /**
     * A handler for one channel.
     *
     * @param programs as {@code OncRpcSvcBuilder.getRpcServices()} has them; empty if the peer calls nothing
     * @param executor where programs run: they may block, which an event loop must not; how many run at a time for one
     *     connection is bounded by the credits that it grants. Calls that wait for a thread are dropped when their
     *     connection is lost, unless a duplicate request cache waits for their replies.
     */
    public OncRpcHandler(Map<OncRpcProgram, RpcDispatchable> programs, Executor executor) {
        this.programs = Map.copyOf(programs);
        this.executor = executor;
    }

    /**
     * For calls to the peer: {@code new RpcCall(program, version, credential, transport)}. An accepting side opens the
     * reverse direction before (RFC 8167). Any thread, once this handler is in a pipeline.
     *
     * @return the transport for stubs of oncrpc4j; valid while the connection is open
     * @throws IllegalStateException before this handler is added to a pipeline
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
        transport = new ChannelTransport(ctx.channel());
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        transport.lost();
        ctx.fireChannelInactive();
    }

    /** Receives messages and transport failures of outbound calls from the codec. */
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object read) {
        if (read instanceof CallFailureMessage failure) {
            transport.replies().fail(failure.xid(), failure.cause());
        } else if (read instanceof ByteBuf message) {
            try {
                received(message);
            } finally {
                message.release();
            }
        } else {
            ctx.fireChannelRead(read);
        }
    }

    private void received(ByteBuf message) {
        int xid = message.getInt(message.readerIndex());
        boolean isCall =
                message.getInt(message.readerIndex() + Integer.BYTES) == RpcMessageType.CALL;
        try {
            // A call's buffer becomes that of its reply, and a program may keep what it has got.
            Xdr xdr = new Xdr(ByteBufUtil.getBytes(message));
            xdr.beginDecoding();
            xdr.xdrDecodeLong();
            if (isCall) {
                called(new RpcCall(xid, xdr, transport));
            } else {
                replied(xid, xdr);
            }
        } catch (Throwable t) {
            // No memory for a copy, for example: this call ends, whichever way it goes.
            if (isCall) {
                failed(xid, t);
            } else {
                transport.replies().fail(xid, t);
            }
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
            // Not validated before.
            denied(call, RpcAuthStat.AUTH_TOOWEAK);
            return;
        }
        RpcDispatchable program =
                programs.get(new OncRpcProgram(call.getProgram(), call.getProgramVersion()));
        if (program == null) {
            unavailable(call);
            return;
        }
        Channel channel = transport.channel();
        queued.execute(
                executor,
                () -> {
                    if (DroppedCallListener.isReplyAwaited(channel)) {
                        dispatch(program, call);
                    }
                });
    }

    /**
     * Drops the calls of a lost connection that wait for a thread: otherwise a peer that connects, calls and closes
     * again and again has as many messages in the queue of the executor as it likes. Whether replies are awaited is
     * known when the pipeline, which is being emptied now, is empty.
     */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        Channel channel = ctx.channel();
        if (channel.isOpen() || queued.isEmpty()) {
            return;
        }
        try {
            channel.eventLoop()
                    .execute(
                            () -> {
                                if (!DroppedCallListener.isReplyAwaited(channel)) {
                                    queued.drop();
                                }
                            });
        } catch (RejectedExecutionException e) {
            queued.drop(); // the event loop has ended, and takes no reply
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

    private void dispatch(RpcDispatchable program, RpcCall call) {
        try {
            try {
                program.dispatchOncRpcCall(call);
            } catch (RpcException e) {
                call.reject(e.getStatus(), e.getRpcReply());
            } catch (IOException e) {
                logger.debug("{}: arguments not understood", call, e);
                call.failRpcGarbage();
            }
        } catch (Throwable t) {
            failed(call.getXid(), t);
        }
    }

    /** Whatever keeps a call from its reply, an {@link Error} included, costs that call alone. */
    private void failed(int xid, Throwable cause) {
        logger.warn("{} XID 0x{}: the call has failed", transport, Integer.toHexString(xid), cause);
        transport.answerSystemError(xid);
    }

    // ------------------------------------------------------------------ replies to calls from here

    /** What a reply that is not understood throws fails its call, as what the handler of the call throws does not. */
    private void replied(int xid, Xdr xdr) {
        CompletionHandler<RpcReply, RpcTransport> waiting = transport.replies().get(xid);
        if (waiting == null) {
            return;
        }
        RpcReply reply = null;
        Throwable failure = null;
        try {
            reply = new RpcReply(xid, xdr, transport);
            failure = failureOf(reply);
        } catch (Throwable t) {
            failure = t;
        }
        try {
            if (failure == null) {
                waiting.completed(reply, transport);
            } else {
                waiting.failed(failure, transport);
            }
        } catch (Throwable t) {
            logger.warn(
                    "{} XID 0x{}: a handler has thrown", transport, Integer.toHexString(xid), t);
        }
    }

    private static OncRpcException failureOf(RpcReply reply) {
        if (!reply.isAccepted()) {
            return new OncRpcRejectedException(reply.getRejectStatus());
        }
        return reply.getAcceptStatus() == RpcAccepsStatus.SUCCESS
                ? null
                : new OncRpcAcceptedException(reply.getAcceptStatus());
    }
}
