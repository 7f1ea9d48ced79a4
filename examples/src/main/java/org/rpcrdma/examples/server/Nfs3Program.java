// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.util.concurrent.Executor;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.nfs.nfs3.response.NFS3Response;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.VerifierNone;
import org.rpcrdma.codec.binding.Nfs3Binding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.examples.export.FailureStatus;
import org.rpcrdma.examples.rpc.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The NFSv3 program (RFC 1813): takes calls apart, asks the {@link Nfs3Service}, and puts replies together. It knows
 * nothing of the transport that calls come by. Runs on an executor, several calls of a connection at a time.
 */
final class Nfs3Program {

    private static final Logger LOG = LoggerFactory.getLogger(Nfs3Program.class);

    private static final Nfs3Binding BINDING = new Nfs3Binding();

    private final Nfs3Service service;
    private final Caller.Policy policy;
    private final FailureLog failures = new FailureLog();

    private Nfs3Program(Nfs3Service service, Caller.Policy policy) {
        this.service = service;
        this.policy = policy;
    }

    static RpcProgram of(Nfs3Service service, Caller.Policy policy, Executor threads) {
        Nfs3Program nfs = new Nfs3Program(service, policy);
        RpcProgram.Builder program = RpcProgram.builder(Nfs3Constant.PROGRAM).executor(threads);
        for (Nfs3Procedure procedure : Nfs3Procedure.values()) {
            program.procedure(
                    Nfs3Constant.VERSION,
                    procedure.number(),
                    call -> call.replyWhole(nfs.reply(procedure, call)));
        }
        return program.build();
    }

    /** Whether a call must not be executed twice when its client sends it again. */
    static boolean isRemembered(int program, int version, int procedure) {
        // An old WRITE that comes again would undo a newer one.
        boolean isRepeatable =
                BINDING.isIdempotent(Nfs3Constant.VERSION, procedure, new XdrCursor())
                        && procedure != Nfs3Procedure.WRITE.number();
        return program == BINDING.program() && BINDING.covers(version) && !isRepeatable;
    }

    private ByteBuf reply(Nfs3Procedure procedure, RpcServerCall call)
            throws MalformedXdrException {
        int xid = call.xid();
        ByteBuf arguments = call.arguments();
        if (!Arguments.areWellFormed(procedure.fields(), arguments)) {
            throw new MalformedXdrException("arguments of " + procedure);
        }
        if (Arguments.nameForeignHandle(procedure.fields(), arguments)) {
            return serialize(procedure.failure(Nfs3Status.NFS3ERR_BADHANDLE), xid);
        }
        try {
            Caller caller = Caller.of(call, policy);
            return procedure.reply(
                    service, new Nfs3Call(xid, arguments, caller, call.channel().alloc()));
        } catch (BufferUnderflowException e) {
            throw new MalformedXdrException("arguments of " + procedure);
        } catch (MalformedXdrException | IndexOutOfBoundsException e) {
            throw e;
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

    static ByteBuf serialize(NFS3Response result, int xid) {
        XDR reply = result.serialize(new XDR(), xid, VerifierNone.INSTANCE);
        return Unpooled.wrappedBuffer(reply.asReadOnlyWrap().buffer());
    }
}
