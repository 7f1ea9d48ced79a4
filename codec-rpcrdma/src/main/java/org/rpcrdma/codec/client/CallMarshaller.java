// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.ReferenceCounted;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RpcMessage;

/**
 * Makes the message of a call when its XID is known. For calls that cover their own XID, as the verifier of RPCSEC_GSS
 * does (RFC 2203, 5.3.1), or that have to be another message each time they are sent.
 *
 * <p>It is asked before each time that the call goes out: the first time, again with the same XID when the call is sent
 * on another connection (RPCSEC_GSS: with a new sequence number, RFC 2203, 5.3.3.1), and again with another XID when
 * the call is repeated with more room for its reply. A call that is cancelled, or that ends, before it goes out is
 * never asked for.
 *
 * <p>Runs on the event loop: do not block there. {@code RpcRdmaClient} and {@code RpcRdmaCallback} take it in the place
 * of a message.
 *
 * @param <V> {@link io.netty.buffer.ByteBuf} or {@link RpcMessage}; the reply is of the same kind
 */
@FunctionalInterface
public interface CallMarshaller<V extends ReferenceCounted> {

    /**
     * Makes the message.
     *
     * @param xid the first word of the call, big-endian
     * @return a whole RPC call that begins with the XID, given away: it is released when the call is over, or
     *     marshalled again
     * @throws Exception the future of the call fails with {@link MarshalException}, which has it as its cause; an
     *     {@link Error} does the same
     */
    V marshal(int xid) throws Exception;
}
