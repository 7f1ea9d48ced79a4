// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCounted;
import org.rpcrdma.codec.RpcMessage;

/**
 * Sends whole RPC calls, gives them their XIDs, and returns a future for each reply: {@link
 * org.rpcrdma.codec.client.RpcRdmaClient} over RDMA, {@link org.rpcrdma.codec.client.RpcRdmaReverseRequester} in the
 * reverse direction, {@link org.rpcrdma.codec.client.StreamRpcTransport} over a byte stream. An {@link RpcClient} calls
 * procedures over any of them.
 *
 * <p>Thread-safe, unless an implementation says otherwise. Futures complete, and readers run, on an event loop.
 */
public interface RpcTransport {

    /**
     * Sends a call, and has its reply read.
     *
     * @param <V> {@link ByteBuf} or {@link RpcMessage}
     * @param <T> the outcome
     * @param call a whole RPC call, taken over; its first word, the XID, is overwritten
     * @param options of the call
     * @param reader of the reply, which is of the same kind as the call
     * @return what the reader returns; fails with what it throws, or because there is no reply
     */
    <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader);

    /**
     * As {@link #exchange}, with a call that is built after its XID is assigned, anew for each transmission.
     *
     * @param <V> as there
     * @param <T> as there
     * @param marshaller builds the call; runs on the event loop
     * @param options as there
     * @param reader as there
     * @return as there
     */
    <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader);

    /**
     * Sends a call with the default options.
     *
     * @param call a whole RPC call, taken over; its first word, the XID, is overwritten
     * @return the whole reply; the caller releases it
     */
    default RpcFuture<ByteBuf> call(ByteBuf call) {
        return call(call, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(ByteBuf)}.
     *
     * @param call as there
     * @param options for this call
     * @return as there
     */
    default RpcFuture<ByteBuf> call(ByteBuf call, CallOptions options) {
        return exchange(call, options, reply -> reply);
    }

    /**
     * Sends a call whose items and results have separate memory.
     *
     * @param call taken over; the first word of its payload, the XID, is overwritten
     * @return the reply with the sinks of the call; the caller releases it
     */
    default RpcFuture<RpcMessage> call(RpcMessage call) {
        return call(call, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(RpcMessage)}.
     *
     * @param call as there
     * @param options for this call
     * @return as there
     */
    default RpcFuture<RpcMessage> call(RpcMessage call, CallOptions options) {
        return exchange(call, options, reply -> reply);
    }

    /**
     * Sends a call whose message is built after its XID is assigned, anew for each transmission.
     *
     * @param <V> {@link ByteBuf} or {@link RpcMessage}
     * @param marshaller builds a {@link ByteBuf} or an {@link RpcMessage}; runs on the event loop
     * @return the whole reply, of the same kind; the caller releases it
     */
    default <V extends ReferenceCounted> RpcFuture<V> call(CallMarshaller<V> marshaller) {
        return call(marshaller, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(CallMarshaller)}.
     *
     * @param <V> {@link ByteBuf} or {@link RpcMessage}
     * @param marshaller as there
     * @param options for this call
     * @return as there
     */
    default <V extends ReferenceCounted> RpcFuture<V> call(
            CallMarshaller<V> marshaller, CallOptions options) {
        return exchangeMarshalled(marshaller, options, reply -> reply);
    }
}
