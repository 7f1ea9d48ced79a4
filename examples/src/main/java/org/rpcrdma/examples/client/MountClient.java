// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import java.io.IOException;
import java.time.Duration;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The MOUNT program, version 3 (RFC 1813, appendix I). */
public final class MountClient {

    /** The longest path, in bytes (RFC 1813, 5.1.2). */
    static final int PATH_MAX = 1024;

    private static final int PROGRAM = 100005;
    private static final int VERSION = 3;
    private static final int MNT = 1;
    private static final int UMNT = 3;
    private static final int MNT3_OK = 0;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final RpcConnection connection;
    private final RpcClient mount;

    public MountClient(RpcConnection connection, OpaqueAuth credential) {
        this.connection = connection;
        mount = connection.client(PROGRAM, VERSION, TIMEOUT).withCredentials(() -> credential);
    }

    public RpcConnection connection() {
        return connection;
    }

    /**
     * @return the handle of a directory
     * @throws NfsStatusException if the server does not export it
     */
    public NfsHandle mount(String path) throws IOException {
        return await(
                mount.call(
                        MNT,
                        out -> out.writeString(path),
                        in -> {
                            int status = in.readInt();
                            if (status != MNT3_OK) {
                                throw new NfsStatusException(path, status);
                            }
                            return NfsHandle.read(in);
                        }));
    }

    /** Takes the mount off the server's list. */
    public void unmount(String path) throws IOException {
        await(mount.call(UMNT, out -> out.writeString(path), XdrDecoder.VOID));
    }

    /** Users have given a port for MOUNT: they have to know that it is MOUNT that fails. */
    private <T> T await(RpcFuture<T> call) throws IOException {
        try {
            return connection.await(call, TIMEOUT);
        } catch (NfsStatusException e) {
            throw e;
        } catch (IOException e) {
            throw new IOException("MOUNT over TCP: " + e.getMessage(), e);
        }
    }
}
