// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.util.ReferenceCounted;

/**
 * Takes the outcome of a call out of its reply. Runs once, on the event loop of the call: do not block there. Not
 * called for a call that has failed or was cancelled.
 *
 * @param <V> {@link io.netty.buffer.ByteBuf} or {@link org.rpcrdma.codec.RpcMessage}
 * @param <T> the outcome
 */
@FunctionalInterface
public interface ReplyOutcomeDecoder<V extends ReferenceCounted, T> {

    /**
     * Reads a reply.
     *
     * @param reply a whole RPC reply that begins with the XID; taken over, also when this method throws
     * @return the outcome of the call
     * @throws Exception the future of the call fails with it; an {@link Error} does the same
     */
    T read(V reply) throws Exception;
}
