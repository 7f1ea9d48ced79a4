// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.util.concurrent.Executor;
import org.rpcrdma.codec.binding.Nfs3Binding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.examples.common.Printable;
import org.rpcrdma.examples.export.FailureStatus;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The NFSv3 program (RFC 1813): asks the {@link Nfs3Service} and makes a status of its failures. It knows nothing of
 * the transport that calls come by. Runs on an executor, several calls of a connection at a time.
 */
final class Nfs3Program {

    static final int PROGRAM = 100003;
    static final int VERSION = 3;

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
        RpcProgram.Builder program = RpcProgram.builder(PROGRAM).executor(threads);
        for (Nfs3Procedure procedure : Nfs3Procedure.values()) {
            program.procedure(VERSION, procedure.number(), call -> nfs.execute(procedure, call));
        }
        return program.build();
    }

    /** Whether a call must not be executed twice when its client sends it again. */
    static boolean isRemembered(int program, int version, int procedure) {
        // An old WRITE that comes again would undo a newer one.
        boolean isRepeatable =
                BINDING.isIdempotent(VERSION, procedure, new XdrCursor())
                        && procedure != Nfs3Procedure.WRITE.number();
        return program == BINDING.program() && BINDING.covers(version) && !isRepeatable;
    }

    private void execute(Nfs3Procedure procedure, RpcServerCall rpc) throws MalformedXdrException {
        Caller caller = Caller.of(rpc, policy);
        try (Nfs3Call call = new Nfs3Call(rpc.arguments(), caller, rpc.channel().alloc())) {
            XdrEncodable results = procedure.results(service, call);
            rpc.reply(out -> out.writeInt(Nfs3Status.NFS3_OK).write(results));
        } catch (MalformedXdrException e) {
            throw e;
        } catch (IOException | RuntimeException | Error e) {
            rpc.reply(procedure.failure(status(procedure, e)));
        }
    }

    private int status(Nfs3Procedure procedure, Throwable failure) {
        int status = FailureStatus.of(failure);
        if (failure instanceof Error
                || status == Nfs3Status.NFS3ERR_SERVERFAULT
                || status == Nfs3Status.NFS3ERR_IO) {
            failures.warn(procedure, failure);
        } else {
            LOG.debug("{} answered with status {}: {}", procedure, status, Printable.of(failure));
        }
        return status;
    }
}
