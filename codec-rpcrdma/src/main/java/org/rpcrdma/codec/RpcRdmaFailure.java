// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;

/**
 * Inbound message that takes the place of a reply when the transport has failed a call. The call is over: its memory
 * is fenced and its XID is free.
 *
 * @param xid of the call
 * @param cause {@link UnsupportedVersionException}, {@link RemoteChunkException}, {@link EligibilityException}, {@link
 *     MalformedReplyException}, {@link PullException}, {@link UnmarshalException} or {@link UnknownOptionException}
 */
public record RpcRdmaFailure(int xid, RpcRdmaException cause) {

    /**
     * A failure of one call.
     *
     * @param cause not {@code null}
     * @param xid of the call
     */
    public RpcRdmaFailure {
        Objects.requireNonNull(cause, "cause");
    }
}
