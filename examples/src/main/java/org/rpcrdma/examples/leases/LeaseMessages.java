// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.rpcrdma.examples.rpc.RpcCredential;
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

    private static final int SUCCESS = 0;
    private static final int PROCEDURE_UNAVAILABLE = 3;
    private static final int PROCEDURE_INDEX = 20;
    private static final int CREDENTIAL_INDEX = 24;
    private static final int LONGEST_NAME = 255;
    private static final int LONGEST_BODY = 400;

    private LeaseMessages() {}

    /** Without its XID, which the caller's transport gives it. */
    static ByteBuf call(int procedure, String argument) {
        ByteBuf call = Unpooled.buffer().writeLong(0).writeInt(2);
        call.writeInt(PROGRAM).writeInt(VERSION).writeInt(procedure);
        RpcCredential.NONE.writeTo(call);
        RpcCredential.NONE.writeTo(call);
        Xdr.writeString(call, argument);
        return call;
    }

    static int procedure(ByteBuf call) {
        return call.getInt(call.readerIndex() + PROCEDURE_INDEX);
    }

    /**
     * The argument of a call, which stays the caller's.
     *
     * @throws IndexOutOfBoundsException if it ends too early
     */
    static String argument(ByteBuf call) {
        ByteBuf in = call.duplicate().skipBytes(CREDENTIAL_INDEX);
        for (int i = 0; i < 2; i++) { // credential, verifier
            in.skipBytes(4);
            Xdr.readOpaque(in, LONGEST_BODY);
        }
        return Xdr.readString(in, LONGEST_NAME);
    }

    static ByteBuf done(int xid) {
        return reply(xid, SUCCESS);
    }

    static ByteBuf noSuchProcedure(int xid) {
        return reply(xid, PROCEDURE_UNAVAILABLE);
    }

    private static ByteBuf reply(int xid, int status) {
        return Unpooled.buffer()
                .writeInt(xid)
                .writeInt(1)
                .writeInt(0)
                .writeLong(0)
                .writeInt(status);
    }
}
