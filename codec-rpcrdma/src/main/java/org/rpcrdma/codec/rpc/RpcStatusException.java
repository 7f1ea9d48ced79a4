// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import java.io.IOException;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;

/**
 * The responder has answered a call with a status other than SUCCESS (RFC 5531, 9): it has no results. The connection
 * is unharmed.
 */
public final class RpcStatusException extends IOException {

    private static final long serialVersionUID = 1L;

    private final Status status;
    private final int low;
    private final int high;

    /**
     * The outcome of a call.
     *
     * @param reply with a status other than SUCCESS
     * @param program that was called, unsigned
     * @param version that was called, unsigned
     */
    RpcStatusException(ReplyHeader reply, int program, int version) {
        super(text(reply, program, version));
        status = reply.status();
        low = reply.low();
        high = reply.high();
    }

    private static String text(ReplyHeader reply, int program, int version) {
        String low = Integer.toUnsignedString(reply.low());
        String high = Integer.toUnsignedString(reply.high());
        String number = Integer.toUnsignedString(program);
        String called = number + " version " + Integer.toUnsignedString(version);
        return switch (reply.status()) {
            case SUCCESS -> throw new IllegalArgumentException("SUCCESS (expected: a failure)");
            case PROG_UNAVAIL -> "the server has no program " + number + " (PROG_UNAVAIL)";
            case PROG_MISMATCH ->
                    "the server has versions "
                            + low
                            + " to "
                            + high
                            + " of program "
                            + called.replace(" version ", ", not ")
                            + " (PROG_MISMATCH)";
            case PROC_UNAVAIL ->
                    "the server has no such procedure in program " + called + " (PROC_UNAVAIL)";
            case GARBAGE_ARGS -> "the server could not read the arguments (GARBAGE_ARGS)";
            case SYSTEM_ERR -> "the server has failed (SYSTEM_ERR)";
            case RPC_MISMATCH ->
                    "the server speaks RPC versions "
                            + low
                            + " to "
                            + high
                            + ", not 2 (RPC_MISMATCH)";
            case AUTH_ERROR ->
                    "the server does not accept the credential (AUTH_ERROR, auth_stat " + low + ")";
        };
    }

    /** {@return the status: accepted, such as PROG_MISMATCH, or rejected, such as AUTH_ERROR; never SUCCESS} */
    public Status status() {
        return status;
    }

    /** {@return the lowest version that there is, unsigned; 0 unless PROG_MISMATCH or RPC_MISMATCH} */
    public int low() {
        return status == Status.AUTH_ERROR ? 0 : low;
    }

    /** {@return the highest version that there is, unsigned; 0 unless PROG_MISMATCH or RPC_MISMATCH} */
    public int high() {
        return high;
    }

    /** {@return why the caller was not believed, an {@code auth_stat} (RFC 5531, 9); 0 unless AUTH_ERROR} */
    public int authStatus() {
        return status == Status.AUTH_ERROR ? low : 0;
    }
}
