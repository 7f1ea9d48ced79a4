// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.MalformedHeaderException;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;

/**
 * Calls procedures of one server: whole RPC messages go there and come back by whatever transport. May be used from
 * any thread.
 */
public abstract class RpcClient implements AutoCloseable {

    /** Without the body of the credential. */
    private static final int FIXED_HEADER = 40;

    /** The longest header of a call in bytes: with AUTH_NONE as verifier and a credential of 400 bytes. */
    public static final int HEADER_MAX = FIXED_HEADER + 400;

    static final int CONNECT_TIMEOUT_MILLIS = 5000;

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
            OpaqueAuth credential,
            ByteBuf arguments,
            long timeoutMillis) {
        CallHeader header = CallHeader.of(program, version, procedure, credential);
        ByteBuf call = prepend(header, arguments);
        Promise<ByteBuf> results = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        exchange(call, timeoutMillis)
                .addListener(
                        (Future<ByteBuf> reply) -> {
                            if (reply.isSuccess()) {
                                take(reply.getNow(), header, results);
                            } else {
                                results.tryFailure(explain(reply.cause(), timeoutMillis));
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

    /** The failure of a call as it is told to the caller. */
    Throwable explain(Throwable cause, long timeoutMillis) {
        return cause;
    }

    /** One piece, in the arguments' own buffer if that has the room: large data are then taken from where they are. */
    private static ByteBuf prepend(CallHeader header, ByteBuf arguments) {
        int length = header.encodedBytes();
        int start = arguments.readerIndex() - length;
        if (start >= 0) {
            header.writeTo(arguments.slice(start, length).writerIndex(0));
            return arguments.readerIndex(start);
        }
        ByteBuf call = ByteBufAllocator.DEFAULT.buffer(length + arguments.readableBytes());
        header.writeTo(call);
        call.writeBytes(arguments);
        arguments.release();
        return call;
    }

    private static void take(ByteBuf reply, CallHeader call, Promise<ByteBuf> results) {
        try {
            String failure = RpcFailures.text(ReplyHeader.read(reply), call);
            if (failure != null) {
                results.tryFailure(new RpcException(failure));
            } else if (results.trySuccess(reply)) {
                return;
            }
        } catch (MalformedHeaderException e) {
            results.tryFailure(
                    new RpcException("the server's reply cannot be read: " + e.getMessage(), e));
        }
        reply.release();
    }

    @Override
    public abstract void close();
}
