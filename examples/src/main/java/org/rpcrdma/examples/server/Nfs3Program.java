// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.request.ACCESS3Request;
import org.apache.hadoop.nfs.nfs3.request.COMMIT3Request;
import org.apache.hadoop.nfs.nfs3.request.CREATE3Request;
import org.apache.hadoop.nfs.nfs3.request.FSINFO3Request;
import org.apache.hadoop.nfs.nfs3.request.FSSTAT3Request;
import org.apache.hadoop.nfs.nfs3.request.GETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.LINK3Request;
import org.apache.hadoop.nfs.nfs3.request.LOOKUP3Request;
import org.apache.hadoop.nfs.nfs3.request.MKDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.PATHCONF3Request;
import org.apache.hadoop.nfs.nfs3.request.READ3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.READDIRPLUS3Request;
import org.apache.hadoop.nfs.nfs3.request.READLINK3Request;
import org.apache.hadoop.nfs.nfs3.request.REMOVE3Request;
import org.apache.hadoop.nfs.nfs3.request.RENAME3Request;
import org.apache.hadoop.nfs.nfs3.request.RMDIR3Request;
import org.apache.hadoop.nfs.nfs3.request.SETATTR3Request;
import org.apache.hadoop.nfs.nfs3.request.SYMLINK3Request;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The NFSv3 program (RFC 1813): takes calls apart, asks the {@link Nfs3Service}, and puts replies together. It knows
 * nothing of the transport that calls come by. Runs on an executor, several calls of a connection at a time.
 */
@ChannelHandler.Sharable
final class Nfs3Program extends RpcProgram {

    private static final Logger LOG = LoggerFactory.getLogger(Nfs3Program.class);

    private static final int NULL = 0;
    private static final int GETATTR = 1;
    private static final int SETATTR = 2;
    private static final int LOOKUP = 3;
    private static final int ACCESS = 4;
    private static final int READLINK = 5;
    private static final int READ = 6;
    private static final int WRITE = 7;
    private static final int CREATE = 8;
    private static final int MKDIR = 9;
    private static final int SYMLINK = 10;
    private static final int MKNOD = 11;
    private static final int REMOVE = 12;
    private static final int RMDIR = 13;
    private static final int RENAME = 14;
    private static final int LINK = 15;
    private static final int READDIR = 16;
    private static final int READDIRPLUS = 17;
    private static final int FSSTAT = 18;
    private static final int FSINFO = 19;
    private static final int PATHCONF = 20;
    private static final int COMMIT = 21;

    private static final Nfs3Binding BINDING = new Nfs3Binding();
    private static final long WARNING_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Nfs3Service service;
    private final AtomicLong nextWarningNanos = new AtomicLong(System.nanoTime());

    Nfs3Program(Nfs3Service service) {
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
        return program == BINDING.program() && BINDING.covers(version) && !isIdempotent(procedure);
    }

    private ByteBuf reply(ChannelHandlerContext ctx, RpcCall call, ByteBuf arguments) {
        int xid = call.getXid();
        int procedure = call.getProcedure();
        if (procedure < NULL || procedure > COMMIT) {
            return accepted(xid, AcceptState.PROC_UNAVAIL);
        }
        if (procedure == NULL) {
            return accepted(xid, AcceptState.SUCCESS);
        }
        if (!Arguments.areWellFormed(procedure, arguments)) {
            return accepted(xid, AcceptState.GARBAGE_ARGS);
        }
        if (Arguments.nameForeignHandle(procedure, arguments)) {
            return serialize(new Nfs3Failure(procedure, Nfs3Status.NFS3ERR_BADHANDLE), xid);
        }
        try {
            Caller caller = Caller.of(call);
            XDR in = new XDR(arguments.nioBuffer(), XDR.State.READING);
            if (procedure == READ) {
                return service.read(READ3Request.deserialize(in), xid, ctx.alloc());
            }
            NFS3Response result =
                    procedure == WRITE ? service.write(arguments) : call(procedure, in, caller);
            return serialize(result, xid);
        } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
            return accepted(xid, AcceptState.GARBAGE_ARGS);
        } catch (IOException | RuntimeException e) {
            int status = FailureStatus.of(e);
            if (status == Nfs3Status.NFS3ERR_SERVERFAULT || status == Nfs3Status.NFS3ERR_IO) {
                warn(procedure, e);
            } else {
                LOG.debug(
                        "NFS procedure {} answered with status {}: {}",
                        procedure,
                        status,
                        e.toString());
            }
            return serialize(new Nfs3Failure(procedure, status), xid);
        }
    }

    /** A client decides how often a procedure fails, but not how much is logged. */
    private void warn(int procedure, Exception failure) {
        long now = System.nanoTime();
        long next = nextWarningNanos.get();
        if (now - next >= 0 && nextWarningNanos.compareAndSet(next, now + WARNING_INTERVAL_NANOS)) {
            LOG.warn("NFS procedure {} failed: {}", procedure, failure.toString());
        }
        LOG.debug("NFS procedure {} failed", procedure, failure);
    }

    private NFS3Response call(int procedure, XDR in, Caller caller) throws IOException {
        return switch (procedure) {
            case GETATTR -> service.getattr(GETATTR3Request.deserialize(in));
            case SETATTR -> service.setattr(SETATTR3Request.deserialize(in));
            case LOOKUP -> service.lookup(LOOKUP3Request.deserialize(in));
            case ACCESS -> service.access(ACCESS3Request.deserialize(in), in.readInt(), caller);
            case READLINK -> service.readlink(READLINK3Request.deserialize(in));
            case CREATE -> service.create(CREATE3Request.deserialize(in), caller);
            case MKDIR -> service.mkdir(MKDIR3Request.deserialize(in), caller);
            case SYMLINK -> service.symlink(SYMLINK3Request.deserialize(in), caller);
            case MKNOD -> new Nfs3Failure(procedure, Nfs3Status.NFS3ERR_NOTSUPP);
            case REMOVE -> service.remove(REMOVE3Request.deserialize(in));
            case RMDIR -> service.rmdir(RMDIR3Request.deserialize(in));
            case RENAME -> service.rename(RENAME3Request.deserialize(in));
            case LINK -> service.link(LINK3Request.deserialize(in));
            case READDIR -> service.readdir(READDIR3Request.deserialize(in));
            case READDIRPLUS -> service.readdirplus(READDIRPLUS3Request.deserialize(in));
            case FSSTAT -> service.fsstat(FSSTAT3Request.deserialize(in));
            case FSINFO -> service.fsinfo(FSINFO3Request.deserialize(in));
            case PATHCONF -> service.pathconf(PATHCONF3Request.deserialize(in));
            case COMMIT -> service.commit(COMMIT3Request.deserialize(in));
            default -> throw new AssertionError(procedure);
        };
    }

    static ByteBuf accepted(int xid, AcceptState state) {
        return toBuffer(
                RpcAcceptedReply.getInstance(xid, state, VerifierNone.INSTANCE).write(new XDR()));
    }

    private static ByteBuf serialize(NFS3Response result, int xid) {
        return toBuffer(result.serialize(new XDR(), xid, VerifierNone.INSTANCE));
    }

    static ByteBuf toBuffer(XDR reply) {
        return Unpooled.wrappedBuffer(reply.asReadOnlyWrap().buffer());
    }
}
