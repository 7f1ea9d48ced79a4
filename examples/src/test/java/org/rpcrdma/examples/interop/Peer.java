// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.examples.common.Xdr;

/** An NFS server, called as root: builds calls, waits for replies. */
final class Peer {

    private static final int TIMEOUT_SECONDS = 60;

    /** Long, as machines' names are that have a domain. */
    private static final String MACHINE = "interop." + "example".repeat(20) + ".org";

    private final RpcRdmaClient client;

    Peer(RpcRdmaClient client) {
        this.client = client;
    }

    /** A call up to its arguments; the client fills the XID in. */
    static ByteBuf call(int program, int version, int procedure) {
        ByteBuf call = header(program, version, procedure);
        call.writeInt(1); // AUTH_SYS
        int length = call.writerIndex();
        call.writeInt(0).writeInt(0);
        Xdr.writeString(call, MACHINE);
        call.writeInt(0).writeInt(0).writeInt(0);
        call.setInt(length, call.writerIndex() - length - 4);
        return call.writeLong(0);
    }

    /** A call without credential, up to its arguments. */
    static ByteBuf nobody(int program, int version, int procedure) {
        return header(program, version, procedure).writeLong(0).writeLong(0);
    }

    private static ByteBuf header(int program, int version, int procedure) {
        return Unpooled.directBuffer()
                .writeInt(0)
                .writeInt(0)
                .writeInt(2)
                .writeInt(program)
                .writeInt(version)
                .writeInt(procedure);
    }

    /** The results of a call; the caller releases them. */
    ByteBuf results(int program, int version, int procedure, Consumer<ByteBuf> arguments)
            throws Exception {
        ByteBuf call = call(program, version, procedure);
        arguments.accept(call);
        return skipHeader(await(client.call(call)));
    }

    ByteBuf await(ByteBuf call) throws Exception {
        return await(client.call(call));
    }

    RpcMessage await(RpcMessage call) throws Exception {
        return await(call, CallOptions.DEFAULT);
    }

    RpcMessage await(RpcMessage call, CallOptions options) throws Exception {
        return await(client.call(call, options));
    }

    private static <T> T await(Future<T> reply) throws Exception {
        try {
            return reply.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw e;
        }
    }

    /** Leaves the reader index at the results of an accepted reply. */
    static ByteBuf skipHeader(ByteBuf reply) {
        try {
            reply.skipBytes(4);
            Report.same("message type", 1, reply.readInt());
            Report.same("reply_stat", 0, reply.readInt());
            reply.skipBytes(4);
            reply.skipBytes(reply.readInt());
            Report.same("accept_stat", 0, reply.readInt());
            return reply;
        } catch (AssertionError e) {
            reply.release();
            throw e;
        }
    }

    /** The handle of an exported directory, by MOUNT version 3 over TCP. */
    static byte[] mount(InetSocketAddress server, String path) throws IOException {
        ByteBuf call = call(100005, 3, 1);
        Xdr.writeString(call, path);
        ByteBuf reply = Unpooled.buffer();
        try (Socket socket = new Socket(server.getAddress(), server.getPort())) {
            socket.setSoTimeout(TIMEOUT_SECONDS * 1000);
            byte[] bytes = new byte[4 + call.readableBytes()];
            Unpooled.wrappedBuffer(bytes)
                    .writerIndex(0)
                    .writeInt(call.readableBytes() | 1 << 31)
                    .writeBytes(call);
            socket.getOutputStream().write(bytes);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            reply.writeBytes(in.readNBytes(in.readInt() & 0x7fffffff));
            skipHeader(reply);
            Report.same("status of MNT " + path, 0, reply.readInt());
            return Xdr.readOpaque(reply, 64);
        } finally {
            call.release();
            reply.release();
        }
    }
}
