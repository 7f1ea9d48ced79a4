// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.rpc.Calls;
import org.rpcrdma.examples.rpc.RpcClient;
import org.rpcrdma.examples.rpc.Xdr;

/** The MOUNT program, version 3 (RFC 1813, appendix I). */
public final class MountClient {

    private static final int PROGRAM = 100005;
    private static final int VERSION = 3;
    private static final int MNT = 1;
    private static final int UMNT = 3;
    private static final int MNT3_OK = 0;
    private static final long TIMEOUT_MILLIS = 30_000;

    private final RpcClient rpc;
    private final OpaqueAuth credential;

    public MountClient(RpcClient rpc, OpaqueAuth credential) {
        this.rpc = rpc;
        this.credential = credential;
    }

    public RpcClient rpc() {
        return rpc;
    }

    /**
     * @return the handle of a directory
     * @throws NfsStatusException if the server does not export it
     */
    public NfsHandle mount(String path) throws IOException {
        return Calls.await(
                rpc.call(PROGRAM, VERSION, MNT, credential, argument(path), TIMEOUT_MILLIS),
                results -> {
                    int status = results.readInt();
                    if (status != MNT3_OK) {
                        throw new NfsStatusException(path, status);
                    }
                    return NfsHandle.read(results);
                });
    }

    /** Takes the mount off the server's list. */
    public void unmount(String path) throws IOException {
        Calls.await(
                rpc.call(PROGRAM, VERSION, UMNT, credential, argument(path), TIMEOUT_MILLIS),
                results -> null);
    }

    private static ByteBuf argument(String path) {
        ByteBuf argument = Unpooled.buffer();
        Xdr.writeString(argument, path);
        return argument;
    }
}
