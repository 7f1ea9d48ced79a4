// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.util.function.Supplier;
import org.rpcrdma.codec.RpcRdmaConnection;

/** View of a new connection, passed to the user's hook before the first call. */
final class NewConnectionView implements RpcRdmaClient.NewConnection {

    private final RpcRdmaConnection made;
    private final EventLoop loop;
    private final CallSubmissionQueue intake;
    private final Supplier<RpcRdmaConnection> current;

    /**
     * @param current gives the connection that there is, which may be another one later
     */
    NewConnectionView(
            RpcRdmaConnection made,
            EventLoop loop,
            CallSubmissionQueue intake,
            Supplier<RpcRdmaConnection> current) {
        this.made = made;
        this.loop = loop;
        this.intake = intake;
        this.current = current;
    }

    @Override
    public RpcRdmaConnection connection() {
        return made;
    }

    @Override
    public Future<ByteBuf> call(ByteBuf call, CallOptions options) {
        if (isHere()) {
            return intake.startHere(call, options);
        }
        call.release();
        return notHere();
    }

    @Override
    public <V extends ReferenceCounted> Future<V> call(
            CallMarshaller<V> encoder, CallOptions options) {
        return isHere() ? intake.startHere(encoder, options) : notHere();
    }

    private boolean isHere() {
        return loop.inEventLoop() && current.get() == made;
    }

    private <V> Future<V> notHere() {
        return loop.newFailedFuture(
                new IllegalStateException(
                        "call of a new connection that is made elsewhere or too late"
                                + " (expected: on its event loop, while it lives)"));
    }
}
