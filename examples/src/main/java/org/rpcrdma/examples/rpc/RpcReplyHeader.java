// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;

/** The header of a reply (RFC 5531, 9). */
final class RpcReplyHeader {

    private static final int XID_AND_TYPE = 8;
    private static final int MSG_ACCEPTED = 0;
    private static final int AUTH_ERROR = 1;
    private static final int AUTH_BODY_MAX = 400;

    private RpcReplyHeader() {}

    /**
     * Leaves the reader index at the results.
     *
     * @throws RpcException if there are none
     * @throws IndexOutOfBoundsException if the reply ends in its header
     */
    static void skip(ByteBuf reply, int program, int version, int procedure) throws RpcException {
        reply.skipBytes(XID_AND_TYPE);
        int state = reply.readInt();
        if (state != MSG_ACCEPTED) {
            int why = reply.readInt();
            throw new RpcException(
                    why == AUTH_ERROR
                            ? "the server does not accept the credential (auth_stat "
                                    + reply.readInt()
                                    + ")"
                            : "the server does not speak RPC version 2");
        }
        reply.skipBytes(4);
        int verifier = Xdr.readLength(reply, AUTH_BODY_MAX);
        reply.skipBytes(verifier + 3 & ~3);
        int accepted = reply.readInt();
        switch (accepted) {
            case 0 -> {}
            case 1 -> throw new RpcException("the server has no program " + program);
            case 2 ->
                    throw new RpcException(
                            "the server has versions "
                                    + reply.readUnsignedInt()
                                    + " to "
                                    + reply.readUnsignedInt()
                                    + " of program "
                                    + program
                                    + ", not "
                                    + version);
            case 3 ->
                    throw new RpcException(
                            "the server has no procedure " + procedure + " in program " + program);
            case 4 -> throw new RpcException("the server could not read the arguments");
            default ->
                    throw new RpcException("the server has failed (accept_stat " + accepted + ")");
        }
    }
}
