// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;

/**
 * Calls procedures of one server: whole RPC messages go there and come back by whatever transport. May be used from any
 * thread.
 */
public abstract class RpcClient implements AutoCloseable {

    /** Without the body of the credential. */
    private static final int FIXED_HEADER = 40;

    /** The longest header of a call in bytes: with AUTH_NONE as verifier and a credential of 400 bytes. */
    public static final int HEADER_MAX = FIXED_HEADER + 400;

    static final int CONNECT_TIMEOUT_MILLIS = 5000;

    private static final int ANY_XID = 0;
    private static final int CALL = 0;
    private static final int RPC_VERSION = 2;

    RpcClient() {}

    /**
     * Calls a procedure.
     *
     * @param arguments in XDR; belong to the call from now on. Where their reader index is {@link #HEADER_MAX} or more,
     *     the header is put in front of them in the same buffer.
     * @return the results in XDR, to be released by the receiver; fails with an {@link java.io.IOException}, an {@link
     *     RpcException} where the server is the reason
     */
    public final Future<ByteBuf> call(
            int program,
            int version,
            int procedure,
            RpcCredential credential,
            ByteBuf arguments,
            long timeoutMillis) {
        ByteBuf call = prepend(program, version, procedure, credential, arguments);
        Promise<ByteBuf> results = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        exchange(call, timeoutMillis)
                .addListener(
                        (Future<ByteBuf> reply) -> {
                            if (reply.isSuccess()) {
                                take(reply.getNow(), program, version, procedure, results);
                            } else {
                                results.tryFailure(reply.cause());
                            }
                        });
        return results;
    }

    /**
     * Sends a whole call and receives the whole reply.
     *
     * @param call belongs to the transport from now on, which puts an XID into its first word
     */
    abstract Future<ByteBuf> exchange(ByteBuf call, long timeoutMillis);

    /** One piece, in the arguments' own buffer if that has the room: large data are then taken from where they are. */
    private static ByteBuf prepend(
            int program, int version, int procedure, RpcCredential credential, ByteBuf arguments) {
        int length = FIXED_HEADER + credential.length();
        int start = arguments.readerIndex() - length;
        boolean hasRoom = start >= 0;
        ByteBuf call =
                hasRoom
                        ? arguments
                        : ByteBufAllocator.DEFAULT.buffer(length + arguments.readableBytes());
        ByteBuf header = hasRoom ? call.slice(start, length).writerIndex(0) : call;
        header.writeInt(ANY_XID).writeInt(CALL).writeInt(RPC_VERSION);
        header.writeInt(program).writeInt(version).writeInt(procedure);
        credential.writeTo(header);
        RpcCredential.NONE.writeTo(header);
        if (hasRoom) {
            return call.readerIndex(start);
        }
        call.writeBytes(arguments);
        arguments.release();
        return call;
    }

    private static void take(
            ByteBuf reply, int program, int version, int procedure, Promise<ByteBuf> results) {
        try {
            RpcReplyHeader.skip(reply, program, version, procedure);
            if (results.trySuccess(reply)) {
                return;
            }
        } catch (RpcException e) {
            results.tryFailure(e);
        } catch (IndexOutOfBoundsException e) {
            results.tryFailure(new RpcException("the server's reply ends too early", e));
        }
        reply.release();
    }

    @Override
    public abstract void close();
}
