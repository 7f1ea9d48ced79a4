// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.nfs.NfsHandle;

/** A connection to an NFS server, and the files on it by their paths. */
public final class NfsSession implements AutoCloseable {

    /** A first call that gets no answer is sent again on other connections; this is for all of them. */
    private static final Duration FIRST_CALL = Duration.ofSeconds(15);

    private final Nfs3Client nfs;
    private final MountClient mount;

    private NfsSession(Nfs3Client nfs, MountClient mount) {
        this.nfs = nfs;
        this.mount = mount;
    }

    /**
     * Takes connections over and makes a first call as nobody: that has the server look the client up, and it may drop
     * calls of others until it has done so.
     *
     * @param nfsRpc for NFS, by whatever transport; closed with the session, or if this fails
     * @param mountRpc for MOUNT, likewise
     */
    public static NfsSession open(
            RpcConnection nfsRpc, RpcConnection mountRpc, OpaqueAuth credential)
            throws IOException {
        NfsSession session =
                new NfsSession(
                        new Nfs3Client(nfsRpc, credential), new MountClient(mountRpc, credential));
        try {
            session.nfs.ping(FIRST_CALL);
            return session;
        } catch (IOException | RuntimeException e) {
            session.close();
            throw e;
        }
    }

    /** NFS over RDMA, and MOUNT over TCP. */
    public static NfsSession open(
            InetSocketAddress nfsServer,
            RpcRdmaConfig config,
            InetSocketAddress mountServer,
            OpaqueAuth credential)
            throws IOException {
        return open(nfsServer, config, mountServer, credential, RpcConnection.CONNECT_TIMEOUT);
    }

    /**
     * NFS over RDMA, and MOUNT over TCP.
     *
     * @param connectTimeout for each of the two connections
     */
    public static NfsSession open(
            InetSocketAddress nfsServer,
            RpcRdmaConfig config,
            InetSocketAddress mountServer,
            OpaqueAuth credential,
            Duration connectTimeout)
            throws IOException {
        RpcConnection mountRpc;
        try {
            mountRpc = RpcConnection.tcp(mountServer, connectTimeout);
        } catch (IOException e) {
            throw new IOException("MOUNT over TCP: " + e.getMessage(), e);
        }
        RpcConnection nfsRpc;
        try {
            nfsRpc = RpcConnection.rdma(nfsServer, config, connectTimeout);
        } catch (IOException | RuntimeException e) {
            mountRpc.close();
            throw e;
        }
        return open(nfsRpc, mountRpc, credential);
    }

    public Nfs3Client nfs() {
        return nfs;
    }

    /**
     * Finds a file: mounts the longest part of the path that the server exports and looks up the rest.
     *
     * @param path starts with a slash
     */
    public Nfs3Client.Found find(String path) throws IOException {
        String exported = trim(path);
        NfsHandle root = tryMount(exported);
        while (root == null) {
            if (exported.isEmpty()) {
                throw new IOException(
                        "the server exports neither "
                                + path
                                + " nor a directory above it to this client");
            }
            exported = exported.substring(0, exported.lastIndexOf('/'));
            root = tryMount(exported);
        }
        Nfs3Client.Found found = new Nfs3Client.Found(root, nfs.attributes(root, path));
        for (String name : path.substring(exported.length()).split("/", -1)) {
            if (!name.isEmpty()) {
                found = lookup(found, name, path);
            }
        }
        return found;
    }

    /** @return {@code null} if the server does not let it be mounted: a file, or not exported, or not there */
    private NfsHandle tryMount(String path) throws IOException {
        if (path.getBytes(StandardCharsets.UTF_8).length > MountClient.PATH_MAX) {
            return null;
        }
        try {
            return mount.mount(path.isEmpty() ? "/" : path);
        } catch (NfsStatusException e) {
            return null;
        }
    }

    private Nfs3Client.Found lookup(Nfs3Client.Found directory, String name, String path)
            throws IOException {
        try {
            return nfs.lookup(directory.handle(), name);
        } catch (NfsStatusException e) {
            throw new NfsStatusException(path, e.status());
        }
    }

    private static String trim(String path) {
        int end = path.length();
        while (end > 0 && path.charAt(end - 1) == '/') {
            end--;
        }
        return path.substring(0, end);
    }

    @Override
    public void close() {
        nfs.connection().close();
        mount.connection().close();
    }
}
