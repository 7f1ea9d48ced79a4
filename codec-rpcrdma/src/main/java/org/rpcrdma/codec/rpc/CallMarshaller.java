// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.util.ReferenceCounted;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RpcMessage;

/**
 * Builds the message of a call after its XID is assigned: for calls with a checksum over the XID, as in the verifier of
 * RPCSEC_GSS (RFC 2203, 5.3.1), or calls that differ in each transmission.
 *
 * <p>Called before each transmission: the first, each retransmission with the same XID on another connection
 * (RPCSEC_GSS: with a new sequence number, RFC 2203, 5.3.3.1), and each repetition with another XID and more memory for
 * its reply. Not called for a call that ends before it is sent.
 *
 * <p>Runs on the event loop: do not block there. {@code RpcRdmaClient} and {@code RpcRdmaReverseRequester} accept a
 * marshaller in the place of a message.
 *
 * @param <V> {@link io.netty.buffer.ByteBuf} or {@link RpcMessage}; the reply is of the same kind
 */
@FunctionalInterface
public interface CallMarshaller<V extends ReferenceCounted> {

    /**
     * Builds the message.
     *
     * @param xid the first word of the call, big-endian
     * @return a whole RPC call that begins with the XID; the caller owns and releases it
     * @throws Exception the future of the call fails with {@link MarshalException}, which has it as its cause; an
     *     {@link Error} does the same
     */
    V marshal(int xid) throws Exception;
}
