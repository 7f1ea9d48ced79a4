// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.io.IOException;
import java.net.InetAddress;
import org.dcache.oncrpc4j.rpc.OncRpcProgram;
import org.dcache.oncrpc4j.rpc.OncRpcSvc;
import org.dcache.oncrpc4j.rpc.OncRpcSvcBuilder;
import org.dcache.oncrpc4j.rpc.RpcCall;
import org.dcache.oncrpc4j.rpc.RpcDispatchable;
import org.dcache.oncrpc4j.xdr.XdrAble;
import org.dcache.oncrpc4j.xdr.XdrDecodingStream;
import org.dcache.oncrpc4j.xdr.XdrEncodingStream;
import org.dcache.oncrpc4j.xdr.XdrVoid;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.benchmarks.Transport;

/** A program of oncrpc4j on its own service, which calls it by the thread that reads: the fastest of its ways. */
final class OncRpc4jSide extends RpcSide {

    private static final int TCP = 6;

    private OncRpcSvc service;

    OncRpc4jSide(Tools tools) {
        super(Transport.NIO, tools);
    }

    @Override
    public String listen() throws IOException {
        service =
                new OncRpcSvcBuilder()
                        .withTCP()
                        .withoutAutoPublish()
                        .withSameThreadIoStrategy()
                        .withBindAddress(InetAddress.getLoopbackAddress().getHostAddress())
                        .withPort(0)
                        .withRpcService(
                                new OncRpcProgram(Nfs3Messages.NFS_PROGRAM, Nfs3Messages.NFS_V3),
                                new Nfs())
                        .build();
        service.start();
        return transport.toText(service.getInetSocketAddress(TCP));
    }

    @Override
    public void close() throws IOException {
        if (service != null) {
            service.stop();
        }
    }

    private static final class Nfs implements RpcDispatchable {

        private final byte[] file = new byte[1 << 20];

        @Override
        public void dispatchOncRpcCall(RpcCall call) throws IOException {
            if (call.getProcedure() == Nfs3Messages.PROCEDURE_READ) {
                Arguments arguments = new Arguments();
                call.retrieveCall(arguments);
                call.reply(new Results(file, arguments.count));
            } else {
                call.reply(XdrVoid.XDR_VOID);
            }
        }
    }

    /** READ3args. */
    private static final class Arguments implements XdrAble {
        private int count;

        @Override
        public void xdrDecode(XdrDecodingStream xdr) throws IOException {
            xdr.xdrDecodeDynamicOpaque();
            xdr.xdrDecodeLong();
            count = xdr.xdrDecodeInt();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) {
            throw new UnsupportedOperationException();
        }
    }

    /** READ3res without attributes. */
    private static final class Results implements XdrAble {
        private final byte[] file;
        private final int count;

        Results(byte[] file, int count) {
            this.file = file;
            this.count = count;
        }

        @Override
        public void xdrDecode(XdrDecodingStream xdr) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void xdrEncode(XdrEncodingStream xdr) {
            xdr.xdrEncodeInt(0);
            xdr.xdrEncodeInt(0);
            xdr.xdrEncodeInt(count);
            xdr.xdrEncodeInt(1);
            xdr.xdrEncodeInt(count);
            xdr.xdrEncodeOpaque(file, 0, count);
        }
    }
}
