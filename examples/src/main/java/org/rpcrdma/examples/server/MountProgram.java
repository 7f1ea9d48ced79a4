// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import java.io.IOException;
import java.util.concurrent.Executor;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.examples.common.Printable;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FailureStatus;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The MOUNT program, version 3 (RFC 1813, appendix I): the handle of {@code /} or of a directory below. */
final class MountProgram {

    private static final Logger LOG = LoggerFactory.getLogger(MountProgram.class);

    private static final int PROGRAM = 100005;
    private static final int VERSION = 3;
    private static final int MNT = 1;
    private static final int DUMP = 2;
    private static final int UMNT = 3;
    private static final int UMNTALL = 4;
    private static final int EXPORT = 5;
    private static final int PATH_MAX = 1024;

    private MountProgram() {}

    static RpcProgram of(Export export, Executor threads) {
        return RpcProgram.builder(PROGRAM)
                .executor(threads)
                .procedure(VERSION, MNT, call -> mount(export, call))
                // The list is for people only, and need not be complete (RFC 1813, 5.2.2): it is
                // empty.
                .procedure(VERSION, DUMP, call -> call.reply(out -> out.writeBoolean(false)))
                .procedure(
                        VERSION,
                        UMNT,
                        call -> {
                            path(call);
                            call.reply();
                        })
                .procedure(VERSION, UMNTALL, RpcServerCall::reply)
                .procedure(VERSION, EXPORT, MountProgram::exports)
                .build();
    }

    private static String path(RpcServerCall call) throws IOException {
        return call.read(in -> in.readString(PATH_MAX));
    }

    private static void mount(Export export, RpcServerCall call) throws IOException {
        String path = path(call);
        NfsHandle handle;
        try (Located directory = export.locate(path).requireDirectory()) {
            handle = export.handle(directory);
        } catch (IOException | RuntimeException e) {
            LOG.info(
                    "{} cannot mount: {}",
                    call.channel().remoteAddress(),
                    Printable.of(path + ": " + e.getMessage()));
            int status = FailureStatus.of(e);
            // mountstat3 has the values of nfsstat3, but only those that a path can lead to.
            int answered = status == Nfs3Status.NFS3ERR_STALE ? Nfs3Status.NFS3ERR_NOENT : status;
            call.reply(out -> out.writeInt(answered));
            return;
        }
        call.reply(
                out -> {
                    out.writeInt(Nfs3Status.NFS3_OK).write(handle).writeInt(2);
                    out.writeInt(OpaqueAuth.AUTH_SYS).writeInt(OpaqueAuth.AUTH_NONE);
                });
    }

    /** One export, {@code /}, for everyone. */
    private static void exports(RpcServerCall call) {
        call.reply(
                out ->
                        out.writeBoolean(true)
                                .writeString("/")
                                .writeBoolean(false)
                                .writeBoolean(false));
    }
}
