// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;

/** One connection to one server. May be used from any thread. */
public final class RpcClient implements AutoCloseable {

    /** The longest header of a call in bytes: with AUTH_NONE as verifier and a credential of 400 bytes. */
    public static final int HEADER_MAX = 40 + 400;

    private final Channel channel;

    RpcClient(Channel channel) {
        this.channel = channel;
    }

    public Channel channel() {
        return channel;
    }

    /**
     * Calls a procedure.
     *
     * @param arguments in XDR; belong to the call from now on. Where their reader index is {@link #HEADER_MAX} or more,
     *     the header is put in front of them in the same buffer.
     * @return the results in XDR, to be released by the receiver; fails with an {@link java.io.IOException}, an {@link
     *     RpcException} where the server or the time is the reason
     */
    public Future<ByteBuf> call(
            int program,
            int version,
            int procedure,
            RpcCredential credential,
            ByteBuf arguments,
            long timeoutMillis) {
        Promise<ByteBuf> result = channel.eventLoop().newPromise();
        if (!channel.isActive()) {
            arguments.release();
            return result.setFailure(new RpcException("the connection is closed"));
        }
        channel.writeAndFlush(
                new RpcCallHandler.Call(
                        program, version, procedure, credential, arguments, timeoutMillis, result));
        return result;
    }

    @Override
    public void close() {
        channel.close().awaitUninterruptibly();
    }
}
