// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.util.function.Supplier;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcPromise;

/** View of a new connection, passed to the user's hook before the first call. */
final class NewConnectionView implements RpcRdmaClient.NewConnection {

    private final RpcRdmaConnection made;
    private final EventLoop loop;
    private final CallHandoverQueue intake;
    private final Supplier<RpcRdmaConnection> current;

    /**
     * @param current supplies the current connection, which may be another one later
     */
    NewConnectionView(
            RpcRdmaConnection made,
            EventLoop loop,
            CallHandoverQueue intake,
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
    public <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        if (isHere()) {
            return intake.startHere(call, options, reader);
        }
        call.release();
        return notHere();
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return isHere() ? intake.startMarshalledHere(marshaller, options, reader) : notHere();
    }

    private boolean isHere() {
        return loop.inEventLoop() && current.get() == made;
    }

    private <T> RpcFuture<T> notHere() {
        return RpcPromise.failed(
                loop,
                new IllegalStateException(
                        "call of a new connection that is made elsewhere or too late"
                                + " (expected: on its event loop, while it lives)"));
    }
}
