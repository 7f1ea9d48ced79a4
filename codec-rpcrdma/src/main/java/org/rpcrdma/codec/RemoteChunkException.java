// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The responder answered ERR_CHUNK (RFC 8166, 4.5.2 and 4.5.3): it could not use the chunks of the call, or the reply did not fit what the call offered. Repeating the call as it is does not help. */
public final class RemoteChunkException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    private final long offered;

    RemoteChunkException(long offered) {
        super(
                "the responder answered ERR_CHUNK: the call has a chunk that it does not take, or"
                        + " the reply is longer than the "
                        + offered
                        + " bytes offered for it (raise the binding's limit or"
                        + " defaultMaximumReply)");
        this.offered = offered;
    }

    /** The bytes that the call offered for its reply: inline, in Write chunks and in a Reply chunk. */
    public long offered() {
        return offered;
    }
}
