// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.util.concurrent.ThreadLocalRandom;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcPromise;
import org.rpcrdma.codec.rpc.RpcTransport;

/**
 * Sends the calls of one request to an rpcbind, each on a socket of its own. Blocks its thread: the futures that it
 * returns are complete. Options are ignored: all calls share the deadline of the exchange.
 */
final class BlockingRpcbindCallTransport implements RpcTransport {

    private final BlockingRpcbindExchange exchange;
    private final boolean isDatagram;

    /**
     * @param isDatagram whether by UDP
     */
    BlockingRpcbindCallTransport(BlockingRpcbindExchange exchange, boolean isDatagram) {
        this.exchange = exchange;
        this.isDatagram = isDatagram;
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return exchangeMarshalled(xid -> setXid(call, xid), options, reader);
    }

    private static <V extends ReferenceCounted> V setXid(V call, int xid) {
        buffer(call).setInt(buffer(call).readerIndex(), xid);
        return call;
    }

    @Override
    @SuppressWarnings("unchecked") // the calls of an rpcbind have no items: all are buffers
    public <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        RpcPromise<T> outcome = new RpcPromise<>(ImmediateEventExecutor.INSTANCE);
        int xid = ThreadLocalRandom.current().nextInt();
        try {
            V call = marshaller.marshal(xid);
            try {
                outcome.setSuccess(reader.read((V) reply(buffer(call), xid)));
            } finally {
                call.release();
            }
        } catch (Throwable t) {
            outcome.setFailure(t);
        }
        return outcome;
    }

    private ByteBuf reply(ByteBuf call, int xid) throws Exception {
        ByteBuf reply = isDatagram ? exchange.overDatagrams(call, xid) : exchange.overStream(call);
        if (reply.readableBytes() < 4 || reply.getInt(reply.readerIndex()) != xid) {
            reply.release();
            throw new RpcbindException("an answer to another call, or none (expected: its XID)");
        }
        return reply;
    }

    private static ByteBuf buffer(ReferenceCounted message) {
        if (message instanceof ByteBuf buffer) {
            return buffer;
        }
        throw new IllegalArgumentException("a call with items: " + message + " (expected: none)");
    }

    /** The rpcbind that is asked. */
    @Override
    public String toString() {
        return exchange.toString();
    }
}
