// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.client.Nfs3Client;
import org.rpcrdma.examples.client.NfsSession;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.nfs.NfsHandle;
import org.rpcrdma.examples.server.Admission;
import org.rpcrdma.examples.server.NfsServer;

/** A server and a client of it, on loopback. */
public final class NfsFixture implements AutoCloseable {

    /** What NFS goes by; MOUNT goes by TCP always. */
    public enum Transport {
        TCP,
        RDMA
    }

    public static final OpaqueAuth ROOT = OpaqueAuth.sys("test", 0, 0, List.of());

    private final Export export;
    private final NfsServer server;
    private final NfsSession session;
    private final InetSocketAddress nfsAddress;
    private final InetSocketAddress mountAddress;

    public NfsFixture(Transport transport, Path directory, Path keyFile, boolean readOnly)
            throws IOException {
        this(transport, directory, keyFile, readOnly, RpcRdmaConfig.defaults(), 0);
    }

    /** A server with another configuration, and what it sends of a directory at a time. */
    NfsFixture(
            Transport transport,
            Path directory,
            Path keyFile,
            boolean readOnly,
            RpcRdmaConfig rdmaConfig,
            int directoryMax)
            throws IOException {
        InetSocketAddress local = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        export = new Export(directory, readOnly, keyFile);
        server = new NfsServer(export, directoryMax, false, Admission.usual());
        boolean isRdma = transport == Transport.RDMA;
        nfsAddress =
                isRdma ? server.serveNfsOverRdma(local, rdmaConfig) : server.serveNfsOverTcp(local);
        mountAddress = server.serveMountOverTcp(local);
        session =
                NfsSession.open(
                        isRdma
                                ? RpcConnection.rdma(nfsAddress, RpcRdmaConfig.defaults())
                                : RpcConnection.tcp(nfsAddress),
                        RpcConnection.tcp(mountAddress),
                        ROOT);
    }

    NfsServer server() {
        return server;
    }

    public NfsSession session() {
        return session;
    }

    public Nfs3Client nfs() {
        return session.nfs();
    }

    public NfsHandle root() throws IOException {
        return session.find("/").handle();
    }

    public InetSocketAddress nfsAddress() {
        return nfsAddress;
    }

    public InetSocketAddress mountAddress() {
        return mountAddress;
    }

    @Override
    public void close() {
        session.close();
        server.close();
        export.close();
    }
}
