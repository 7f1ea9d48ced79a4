// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.DroppedCallListener;
import org.rpcrdma.codec.internal.LogRateLimiter;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/**
 * Serves {@link RpcProgram}s on a channel that delivers whole RPC messages: behind {@link
 * org.rpcrdma.codec.RpcRdmaCodec}, or behind {@link RecordMarkingHandler}. Answers by itself what no procedure should
 * see: other RPC versions, programs, versions and procedures, and callers who are not believed (RFC 5531, 9).
 *
 * <p>Replies in its inbound messages are passed on. A message that is neither closes the channel, as an exception does.
 * Sharable: one may serve all channels.
 */
@Sharable
public final class RpcServerHandler extends ChannelInboundHandlerAdapter {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcServerHandler.class);

    private static final LogRateLimiter LIMIT = new LogRateLimiter(System::nanoTime);

    private static final int CALL = 0;
    private static final int REPLY = 1;

    /** A type and a version that there are not. */
    private static final long NEITHER = -1;

    private static final int RPC_VERSION = 2;
    private static final int VERSION_END = 12;
    private static final int CREDENTIAL_OFFSET = 24;
    private static final int SHORTEST_CALL = 40;

    private final RpcProgram[] programs;
    private final RpcServerAuthenticator authenticator;

    /**
     * A handler that believes AUTH_NONE and AUTH_SYS ({@link RpcServerAuthenticator#NONE_OR_SYS}).
     *
     * @param programs that are served
     */
    public RpcServerHandler(RpcProgram... programs) {
        this(RpcServerAuthenticator.NONE_OR_SYS, List.of(programs));
    }

    /**
     * A handler with an authenticator.
     *
     * @param authenticator decides whether a caller is believed
     * @param programs that are served
     */
    public RpcServerHandler(RpcServerAuthenticator authenticator, List<RpcProgram> programs) {
        this.authenticator = Objects.requireNonNull(authenticator, "authenticator");
        this.programs = programs.toArray(RpcProgram[]::new);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf payload =
                message instanceof ByteBuf buffer
                        ? buffer
                        : message instanceof RpcMessage parts ? parts.content() : null;
        int length = payload == null ? 0 : payload.readableBytes();
        // Two words at a time: the message type and the RPC version of a call.
        long typeAndVersion =
                length < VERSION_END ? NEITHER : payload.getLong(payload.readerIndex() + 4);
        if (payload == null
                || typeAndVersion >>> 32 == REPLY
                || (length < VERSION_END && ReplyHeader.isIn(payload))) {
            ctx.fireChannelRead(message);
            return;
        }
        if (typeAndVersion >>> 32 != CALL) {
            ReferenceCountUtil.release(message);
            close(ctx, length);
            return;
        }
        RpcServerCall call = new RpcServerCall(ctx.channel(), (ReferenceCounted) message, payload);
        try {
            if ((int) typeAndVersion != RPC_VERSION) {
                call.refuse(ReplyHeader.rpcMismatch(call.xid(), RPC_VERSION, RPC_VERSION));
            } else if (length < SHORTEST_CALL) {
                call.tryDrop();
                close(ctx, length);
            } else {
                receive(call, payload);
            }
        } catch (Throwable t) {
            fail(call, t);
        }
    }

    private void receive(RpcServerCall call, ByteBuf payload) {
        int start = payload.readerIndex();
        long programAndVersion = payload.getLong(start + 12);
        int procedure = payload.getInt(start + 20);
        int authStatus = skipHeader(call, payload);
        if (authStatus == RpcServerAuthenticator.AUTH_OK) {
            dispatch(call, (int) (programAndVersion >>> 32), (int) programAndVersion, procedure);
        } else {
            call.refuseAuthentication(authStatus);
        }
    }

    private static void close(ChannelHandlerContext ctx, int length) {
        close(ctx, "it sent " + length + " bytes that are no RPC call");
    }

    /** Moves to the arguments; {@code auth_stat}. */
    private int skipHeader(RpcServerCall call, ByteBuf payload) {
        int start = payload.readerIndex();
        if (authenticator == RpcServerAuthenticator.NONE_OR_SYS && call.isFromNobody()) {
            payload.readerIndex(start + SHORTEST_CALL);
            return RpcServerAuthenticator.AUTH_OK;
        }
        int end = payload.writerIndex();
        int verifier = endOfAuth(payload, start + CREDENTIAL_OFFSET, end - 8);
        if (verifier < 0) {
            return RpcServerAuthenticator.AUTH_BADCRED;
        }
        int arguments = endOfAuth(payload, verifier, end);
        if (arguments < 0) {
            return RpcServerAuthenticator.AUTH_BADVERF;
        }
        int authStatus = authenticator.authenticate(call);
        payload.readerIndex(arguments);
        return authStatus;
    }

    /** The index behind an authenticator; -1 if it is too long, or ends behind the end. */
    private static int endOfAuth(ByteBuf in, int index, int end) {
        int length = in.getInt(index + 4);
        if (length < 0 || length > OpaqueAuth.MAXIMUM_BODY) {
            return -1;
        }
        int next = index + 8 + (length + 3 & ~3);
        return next <= end ? next : -1;
    }

    private void dispatch(RpcServerCall call, int number, int version, int procedure) {
        RpcProgram program = find(number);
        if (program == null) {
            call.refuse(Status.PROG_UNAVAIL);
            return;
        }
        IntObjectMap<RpcProcedureHandler> procedures = program.procedures(version);
        if (procedures == null) {
            call.refuse(
                    ReplyHeader.programMismatch(
                            call.xid(), program.lowestVersion(), program.highestVersion()));
            return;
        }
        RpcProcedureHandler handler = procedures.get(procedure);
        if (handler == null) {
            call.refuse(Status.PROC_UNAVAIL);
        } else {
            execute(program.executor(), handler, call);
        }
    }

    private RpcProgram find(int number) {
        for (RpcProgram program : programs) {
            if (program.number() == number) {
                return program;
            }
        }
        return null;
    }

    private static void execute(
            Executor executor, RpcProcedureHandler procedure, RpcServerCall call) {
        if (executor == null) {
            execute(procedure, call);
            return;
        }
        QueuedCalls.QueuedCall queued = QueuedCalls.of(call.channel()).add(call);
        try {
            executor.execute(() -> executeIfAwaited(procedure, queued.take()));
        } catch (Throwable t) {
            // An executor that has failed may have the task in its queue nevertheless.
            if (queued.take() != null) {
                if (t instanceof RejectedExecutionException) {
                    refuse(call, Status.SYSTEM_ERR);
                } else {
                    fail(call, t);
                }
            }
        }
    }

    /**
     * A call whose connection was lost before its turn is dropped: nobody sees its reply.
     *
     * @param call {@code null} where this has happened
     */
    private static void executeIfAwaited(RpcProcedureHandler procedure, RpcServerCall call) {
        if (call != null && call.isAwaited()) {
            execute(procedure, call);
        } else if (call != null) {
            call.tryDrop();
        }
    }

    /**
     * Drops the calls of a lost connection that wait for a thread: otherwise a peer that connects, calls and closes
     * again and again has as many messages in the queue of an executor as it likes.
     */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (!ctx.channel().isOpen()) {
            QueuedCalls.connectionLost(ctx.channel());
        }
    }

    private static void execute(RpcProcedureHandler procedure, RpcServerCall call) {
        try {
            procedure.execute(call);
        } catch (MalformedXdrException | IndexOutOfBoundsException e) {
            if (call.isAnswered()) {
                UserExceptionLog.failed("a procedure that has answered", e);
            } else {
                refuse(call, Status.GARBAGE_ARGS);
            }
        } catch (Throwable t) {
            fail(call, t);
        }
    }

    private static void fail(RpcServerCall call, Throwable failure) {
        try {
            UserExceptionLog.failed("a procedure", failure);
        } finally {
            if (!call.isAnswered()) {
                refuse(call, Status.SYSTEM_ERR);
            }
        }
    }

    /** Where there is no memory for an answer, the caller loses its connection, and asks again on another one. */
    private static void refuse(RpcServerCall call, Status status) {
        try {
            call.refuse(status);
        } catch (Throwable t) {
            if (call.tryDrop()) {
                call.channel().close();
                DroppedCallListener.tell(call.channel(), call.xid());
            }
        }
    }

    /** Ends a connection that has failed: its client connects again. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        close(ctx, cause.toString());
    }

    private static void close(ChannelHandlerContext ctx, String why) {
        try {
            long suppressed = LIMIT.take();
            if (suppressed >= 0) {
                LOGGER.info("{} is closed: {} ({} more not shown)", ctx.channel(), why, suppressed);
            }
        } finally {
            ctx.close(); // where there is no memory for the line too
        }
    }
}
