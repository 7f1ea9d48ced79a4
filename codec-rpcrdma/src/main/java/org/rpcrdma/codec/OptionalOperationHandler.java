// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;

/**
 * One optional operation of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3), for both roles; registered with its
 * number by {@link VersionTwo.Builder#option}. A responder has to have all of the operation or none of it (3.3).
 *
 * <p>An operation is a call and its reply, and is treated like other calls: it has an XID that no other outstanding
 * call of the sender has, it takes a credit until it is answered, and a lost connection ends it.
 * {@link RpcRdmaOption#call} is written to the channel by a requester.
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
        /** Whatever the operation says, which alone knows how to check it: a part of an RPC message, for example. */
        ANY
    }

    /** {@return what its messages have to have; others are answered BAD_HEADER, or dropped when they are replies} */
    Payload payload();

    /**
     * A message of the operation has come. A call has to be answered once, at any time while the connection lasts, by
     * writing {@link RpcRdmaOption#reply} to the channel.
     *
     * @param channel what to answer on
     * @param message a call, or the reply to one of this side's calls; the handler releases it
     * @throws Exception what is wrong with a call, which is answered BAD_HEADER; it must not be answered otherwise
     *     then. It is logged, as is what is thrown at a reply
     */
    void received(Channel channel, RpcRdmaOption message) throws Exception;
}
