// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;

/**
 * One optional operation of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3), for both roles; registered with its
 * number by {@link VersionTwoConfig.Builder#option}. A responder has to have all of the operation or none of it (3.3).
 *
 * <p>An operation consists of a call and its reply, and is treated like an RPC: its XID differs from those of all other
 * outstanding calls of the sender, it takes a credit until it is answered, and it fails with its connection. {@link
 * OptionalOperationMessage#call} is written to the channel by a requester.
 *
 * <p>One handler serves all connections of the configuration, each on its own event loop.
 */
public interface OptionalOperationHandler {

    /** What follows the header of the operation's messages in the same Send (draft, 4.2.1). */
    enum Payload {
        /** Nothing. */
        NONE,
        /** A whole RPC message, whose XID and message type are those of the header (draft, 4.2.2). */
        RPC_MESSAGE,
        /** Defined and validated by the operation: a part of an RPC message, for example. */
        ANY
    }

    /**
     * {@return the payload of the operation's messages; a call with another is answered BAD_HEADER, a reply is dropped}
     */
    Payload payload();

    /**
     * A message of the operation has arrived. A call must be answered once, at any time while the connection is open,
     * by writing {@link OptionalOperationMessage#reply} to the channel.
     *
     * @param channel to write the answer to
     * @param message a call, or the reply to one of this side's calls; the handler releases it
     * @throws Exception if the message is invalid. The exception is logged; a call is answered BAD_HEADER, and the
     *     handler must not answer it too
     */
    void received(Channel channel, OptionalOperationMessage message) throws Exception;
}
