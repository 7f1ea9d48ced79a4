// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;

/**
 * Inbound message in the place of a reply to a call that failed in the transport. The memory of the call is
 * invalidated, and its XID may be reused.
 *
 * @param xid of the call
 * @param cause {@link ErrVersReplyException}, {@link ErrChunkReplyException}, {@link DdpEligibilityException},
 * {@link MalformedReplyException}, {@link ReplyPullException}, {@link LocalReplyDecodeException} or {@link
 *     OptionalOperationUnsupportedByPeerException}
 */
public record CallFailureMessage(int xid, RpcRdmaException cause) {

    /**
     * A failure of one call.
     *
     * @param cause not {@code null}
     * @param xid of the call
     */
    public CallFailureMessage {
        Objects.requireNonNull(cause, "cause");
    }
}
