// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.ReplyHeader;

/** Why a reply has no results, in words for a person. */
final class RpcFailures {

    private RpcFailures() {}

    /** {@code null} if there are results. */
    static String text(ReplyHeader reply, CallHeader call) {
        String program = Integer.toUnsignedString(call.program());
        return switch (reply.status()) {
            case SUCCESS -> null;
            case PROG_UNAVAIL -> "the server has no program " + program;
            case PROG_MISMATCH ->
                    "the server has versions "
                            + Integer.toUnsignedString(reply.low())
                            + " to "
                            + Integer.toUnsignedString(reply.high())
                            + " of program "
                            + program
                            + ", not "
                            + Integer.toUnsignedString(call.version());
            case PROC_UNAVAIL ->
                    "the server has no procedure " + call.procedure() + " in program " + program;
            case GARBAGE_ARGS -> "the server could not read the arguments";
            case SYSTEM_ERR -> "the server has failed (SYSTEM_ERR)";
            case RPC_MISMATCH -> "the server does not speak RPC version 2";
            case AUTH_ERROR ->
                    "the server does not accept the credential (auth_stat " + reply.low() + ")";
        };
    }
}
