// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.oncrpc.RpcAcceptedReply;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcProgram;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.VerifierNone;
import org.rpcrdma.codec.binding.Nfs3Binding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.examples.export.FailureStatus;
import org.rpcrdma.examples.rpc.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The NFSv3 program (RFC 1813): takes calls apart, asks the {@link Nfs3Service}, and puts replies together. It knows
 * nothing of the transport that calls come by. Runs on an executor, several calls of a connection at a time.
 */
@ChannelHandler.Sharable
final class Nfs3Program extends RpcProgram {

    private static final Logger LOG = LoggerFactory.getLogger(Nfs3Program.class);

    private static final Nfs3Binding BINDING = new Nfs3Binding();

    private final Nfs3Service service;
    private final Caller.Policy policy;
    private final FailureLog failures = new FailureLog();

    Nfs3Program(Nfs3Service service, Caller.Policy policy) {
        super(
                "nfs",
                "localhost",
                0,
                Nfs3Constant.PROGRAM,
                Nfs3Constant.VERSION,
                Nfs3Constant.VERSION,
                null,
                true);
        this.service = service;
        this.policy = policy;
    }

    @Override
    protected void handleInternal(ChannelHandlerContext ctx, RpcInfo info) {
        // The superclass releases the arguments when this returns.
        RpcCall call = (RpcCall) info.header();
        RpcReplyWriter.send(ctx.channel(), reply(ctx, call, info.data()));
    }

    @Override
    protected boolean isIdempotent(RpcCall call) {
        return isIdempotent(call.getProcedure());
    }

    private static boolean isIdempotent(int procedure) {
        return BINDING.isIdempotent(Nfs3Constant.VERSION, procedure, new XdrCursor());
    }

    /** Whether a call must not be executed twice when its client sends it again. */
    static boolean isRemembered(int program, int version, int procedure) {
        // An old WRITE that comes again would undo a newer one.
        boolean isRepeatable =
                isIdempotent(procedure) && Nfs3Procedure.of(procedure) != Nfs3Procedure.WRITE;
        return program == BINDING.program() && BINDING.covers(version) && !isRepeatable;
    }

    private ByteBuf reply(ChannelHandlerContext ctx, RpcCall call, ByteBuf arguments) {
        int xid = call.getXid();
        Nfs3Procedure procedure = Nfs3Procedure.of(call.getProcedure());
        if (procedure == null) {
            return accepted(xid, AcceptState.PROC_UNAVAIL);
        }
        if (!Arguments.areWellFormed(procedure.fields(), arguments)) {
            return accepted(xid, AcceptState.GARBAGE_ARGS);
        }
        if (Arguments.nameForeignHandle(procedure.fields(), arguments)) {
            return serialize(procedure.failure(Nfs3Status.NFS3ERR_BADHANDLE), xid);
        }
        try {
            return procedure.reply(
                    service, new Nfs3Call(xid, arguments, Caller.of(call, policy), ctx.alloc()));
        } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
            return accepted(xid, AcceptState.GARBAGE_ARGS);
        } catch (IOException | RuntimeException | Error e) {
            int status = FailureStatus.of(e);
            if (e instanceof Error
                    || status == Nfs3Status.NFS3ERR_SERVERFAULT
                    || status == Nfs3Status.NFS3ERR_IO) {
                failures.warn(procedure, e);
            } else {
                LOG.debug("{} answered with status {}: {}", procedure, status, Printable.of(e));
            }
            return serialize(procedure.failure(status), xid);
        }
    }

    static ByteBuf accepted(int xid, AcceptState state) {
        return toBuffer(
                RpcAcceptedReply.getInstance(xid, state, VerifierNone.INSTANCE).write(new XDR()));
    }

    static ByteBuf serialize(NFS3Response result, int xid) {
        return toBuffer(result.serialize(new XDR(), xid, VerifierNone.INSTANCE));
    }

    static ByteBuf toBuffer(XDR reply) {
        return Unpooled.wrappedBuffer(reply.asReadOnlyWrap().buffer());
    }
}
