// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.apache.hadoop.mount.MountInterface;
import org.apache.hadoop.mount.MountResponse;
import org.apache.hadoop.nfs.nfs3.FileHandle;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.apache.hadoop.oncrpc.RpcAcceptedReply;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcProgram;
import org.apache.hadoop.oncrpc.RpcResponse;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.VerifierNone;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FailureStatus;
import org.rpcrdma.examples.export.Located;
import org.rpcrdma.examples.rpc.Printable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The MOUNT program, version 3 (RFC 1813, appendix I): the handle of {@code /} or of a directory below. */
@ChannelHandler.Sharable
final class MountProgram extends RpcProgram implements MountInterface {

    private static final Logger LOG = LoggerFactory.getLogger(MountProgram.class);

    private static final int PROGRAM = 100005;
    private static final int VERSION = 3;
    private static final int PATH_MAX = 1024;
    private static final int AUTH_NONE = 0;
    private static final int AUTH_SYS = 1;

    private final Export export;

    MountProgram(Export export) {
        super("mount", "localhost", 0, PROGRAM, VERSION, VERSION, null, true);
        this.export = export;
    }

    @Override
    protected void handleInternal(ChannelHandlerContext ctx, RpcInfo info) {
        // The superclass releases the arguments when this returns.
        RpcCall call = (RpcCall) info.header();
        InetAddress client = ((InetSocketAddress) info.remoteAddress()).getAddress();
        int xid = call.getXid();
        XDR in = new XDR(info.data().nioBuffer(), XDR.State.READING);
        XDR out = new XDR();
        MNTPROC procedure = MNTPROC.fromValue(call.getProcedure());
        boolean hasPath = procedure == MNTPROC.MNT || procedure == MNTPROC.UMNT;
        if (hasPath && !Arguments.skipOpaque(info.data().duplicate(), PATH_MAX)) {
            accept(out, xid, AcceptState.GARBAGE_ARGS);
        } else if (procedure == MNTPROC.NULL) {
            nullOp(out, xid, client);
        } else if (procedure == MNTPROC.MNT) {
            mnt(in, out, xid, client);
        } else if (procedure == MNTPROC.DUMP) {
            dump(out, xid, client);
        } else if (procedure == MNTPROC.UMNT) {
            umnt(in, out, xid, client);
        } else if (procedure == MNTPROC.UMNTALL) {
            umntall(out, xid, client);
        } else if (procedure == MNTPROC.EXPORT) {
            export(out, xid);
        } else {
            accept(out, xid, AcceptState.PROC_UNAVAIL);
        }
        RpcUtil.sendRpcResponse(
                ctx, new RpcResponse(Nfs3Program.toBuffer(out), info.remoteAddress()));
    }

    @Override
    protected boolean isIdempotent(RpcCall call) {
        return true;
    }

    @Override
    public XDR nullOp(XDR out, int xid, InetAddress client) {
        return accept(out, xid, AcceptState.SUCCESS);
    }

    @Override
    public XDR mnt(XDR in, XDR out, int xid, InetAddress client) {
        String path = in.readString();
        accept(out, xid, AcceptState.SUCCESS);
        try (Located directory = export.locate(path).requireDirectory()) {
            FileHandle handle = export.handle(directory);
            out.writeInt(MountResponse.MNT_OK);
            handle.serialize(out);
            out.writeInt(2);
            out.writeInt(AUTH_SYS);
            out.writeInt(AUTH_NONE);
        } catch (IOException | RuntimeException e) {
            LOG.info("{} cannot mount: {}", client, Printable.of(path + ": " + e.getMessage()));
            int status = FailureStatus.of(e);
            // mountstat3 has the values of nfsstat3, but only those that a path can lead to.
            out.writeInt(status == Nfs3Status.NFS3ERR_STALE ? Nfs3Status.NFS3ERR_NOENT : status);
        }
        return out;
    }

    /** The list is for people only, and need not be complete (RFC 1813, 5.2.2): it is empty. */
    @Override
    public XDR dump(XDR out, int xid, InetAddress client) {
        return MountResponse.writeMountList(out, xid, List.of());
    }

    @Override
    public XDR umnt(XDR in, XDR out, int xid, InetAddress client) {
        return accept(out, xid, AcceptState.SUCCESS);
    }

    @Override
    public XDR umntall(XDR out, int xid, InetAddress client) {
        return accept(out, xid, AcceptState.SUCCESS);
    }

    /** One export, {@code /}, for everyone. */
    private static void export(XDR out, int xid) {
        accept(out, xid, AcceptState.SUCCESS);
        out.writeBoolean(true);
        out.writeString("/");
        out.writeBoolean(false);
        out.writeBoolean(false);
    }

    private static XDR accept(XDR out, int xid, AcceptState state) {
        return RpcAcceptedReply.getInstance(xid, state, VerifierNone.INSTANCE).write(out);
    }
}
