// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;
import org.rpcrdma.examples.rpc.Xdr;

/** The messages of both directions: each call has one string as argument, each reply has no results. */
final class LeaseMessages {

    /** A program, or a client, that has no number of its own. */
    static final int PROGRAM = 0x20008167;

    static final int VERSION = 1;

    /** To the server: the client's name. It takes reverse calls on this connection from now on. */
    static final int HELLO = 1;

    /** To the server: a lease. The reply comes when nobody else has it. */
    static final int ACQUIRE = 2;

    /** To the client: a lease. The reply gives it back. */
    static final int RECALL = 3;

    private static final int LONGEST_NAME = 255;

    private LeaseMessages() {}

    /** Without its XID, which the caller's transport gives it. */
    static ByteBuf call(int procedure, String argument) {
        ByteBuf call = Unpooled.buffer();
        CallHeader.of(PROGRAM, VERSION, procedure, OpaqueAuth.NONE).writeTo(call);
        Xdr.writeString(call, argument);
        return call;
    }

    /**
     * The argument of a call whose header was read.
     *
     * @throws IndexOutOfBoundsException if it ends too early
     */
    static String argument(ByteBuf call) {
        return Xdr.readString(call, LONGEST_NAME);
    }

    static ByteBuf done(int xid) {
        return reply(xid, Status.SUCCESS);
    }

    static ByteBuf noSuchProcedure(int xid) {
        return reply(xid, Status.PROC_UNAVAIL);
    }

    private static ByteBuf reply(int xid, Status status) {
        ByteBuf reply = Unpooled.buffer();
        ReplyHeader.of(xid, status).writeTo(reply);
        return reply;
    }
}
