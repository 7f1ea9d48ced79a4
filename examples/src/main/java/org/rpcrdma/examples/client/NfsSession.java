// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.examples.rpc.RpcClient;
import org.rpcrdma.examples.rpc.RpcConnector;
import org.rpcrdma.examples.rpc.RpcCredential;
import org.rpcrdma.examples.rpc.RpcException;
import org.rpcrdma.examples.rpc.RpcTimeoutException;

/** A connection to an NFS server, and the files on it by their paths. */
public final class NfsSession implements AutoCloseable {

    /** How often a connection is tried whose first call gets no answer. */
    private static final int CONNECTIONS_MAX = 5;

    private static final long FIRST_CALL_MILLIS = 2000;

    private final Nfs3Client nfs;
    private final MountClient mount;

    private NfsSession(Nfs3Client nfs, MountClient mount) {
        this.nfs = nfs;
        this.mount = mount;
    }

    /**
     * @param nfsConnector for NFS, by whatever transport
     * @param mountConnector for MOUNT, by TCP
     */
    public static NfsSession open(
            RpcConnector nfsConnector,
            InetSocketAddress nfsServer,
            RpcConnector mountConnector,
            InetSocketAddress mountServer,
            RpcCredential credential)
            throws IOException {
        RpcClient mountRpc = mountConnector.connect(mountServer);
        try {
            RpcClient nfsRpc =
                    connect(
                            nfsConnector,
                            nfsServer,
                            client -> new Nfs3Client(client, credential).ping(FIRST_CALL_MILLIS));
            return new NfsSession(
                    new Nfs3Client(nfsRpc, credential), new MountClient(mountRpc, credential));
        } catch (IOException | RuntimeException e) {
            mountRpc.close();
            throw e;
        }
    }

    /** What is called first. */
    public interface FirstCall {
        void on(RpcClient client) throws IOException;
    }

    /**
     * Connects and makes a first call. A Linux server sometimes loses the first call of a connection when it comes right
     * after the connection is made, and answers it on another connection; so the first call has a short time, and does
     * nothing that could not be done twice.
     */
    public static RpcClient connect(
            RpcConnector connector, InetSocketAddress server, FirstCall call) throws IOException {
        for (int attempt = 1; ; attempt++) {
            RpcClient client = connector.connect(server);
            try {
                call.on(client);
                return client;
            } catch (RpcTimeoutException e) {
                client.close();
                if (attempt == CONNECTIONS_MAX) {
                    throw new RpcException(
                            "no answer from "
                                    + server.getHostString()
                                    + ":"
                                    + server.getPort()
                                    + " on "
                                    + CONNECTIONS_MAX
                                    + " connections",
                            e);
                }
            } catch (IOException | RuntimeException e) {
                client.close();
                throw e;
            }
        }
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
                throw new RpcException(
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
        nfs.rpc().close();
        mount.rpc().close();
    }
}
