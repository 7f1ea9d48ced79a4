// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Reason why a message is refused, with everything that follows from it: the counter, the line in the log, the answer
 * to the peer and the exception for the user. {@link ConnectionContext#report} counts and logs it; the role that holds
 * the message answers. Immutable.
 *
 * @param counter counts this reason, besides the counter of the answer; {@code null} for none
 * @param problem what is wrong, for the log and for the user
 * @param answer what the peer learns
 * @param exception what the user of this side learns; {@code null} when nobody here waits for an outcome
 */
record Refusal(RpcRdmaCounter counter, String problem, Answer answer, Throwable exception) {

    /** What the peer learns (RFC 8166, 4.5; RFC 5531, 9). */
    enum Answer {
        /** Nothing: only calls are answered. */
        NONE("dropped", null),

        /** ERR_VERS (RFC 8166, 4.5.1). Not logged: a requester may ask for a version in this way. */
        ERR_VERS(null, RpcRdmaCounter.VERSION_ERRORS_SENT),

        /** ERR_CHUNK, or BAD_HEADER in version 2 (RFC 8166, 4.5.2 and 4.5.3). */
        ERR_CHUNK("answered with ERR_CHUNK", RpcRdmaCounter.CHUNK_ERRORS_SENT),

        /** INVAL_OPTION of version 2 (draft, 4.2.2). */
        INVAL_OPTION("answered with INVAL_OPTION", RpcRdmaCounter.OPTION_ERRORS_SENT),

        /** An RPC reply: the transport was right, the arguments are not. */
        GARBAGE_ARGS("answered with GARBAGE_ARGS", RpcRdmaCounter.GARBAGE_ARGS_SENT),

        /** An RPC reply: this side could not execute the call, or not reply to it; logged with its cause. */
        SYSTEM_ERR(null, RpcRdmaCounter.SYSTEM_ERRORS_SENT),

        /** Nothing: it was an answer itself, and its call fails here. */
        CALL_FAILS("the call fails", RpcRdmaCounter.BAD_REPLIES),

        /** The end of the connection (RFC 8166, 4.5.4). */
        CLOSE(null, null);

        private final String action;
        private final RpcRdmaCounter counter;

        Answer(String action, RpcRdmaCounter counter) {
            this.action = action;
            this.counter = counter;
        }

        /** The second half of the log line; {@code null} when there is none, or one of another kind. */
        String action() {
            return action;
        }

        /** Counts the answers of this kind; {@code null} when nobody does. */
        RpcRdmaCounter counter() {
            return counter;
        }
    }

    /** Of a message that may not be answered: it is no call, or not certain to be one. */
    static Refusal drop(RpcRdmaCounter counter, String problem) {
        return new Refusal(counter, problem, Answer.NONE, null);
    }

    /** Of a message in a version that is not spoken here. */
    static Refusal unsupportedVersion(int version) {
        String problem = "version " + Integer.toUnsignedString(version);
        return new Refusal(null, problem, Answer.ERR_VERS, null);
    }

    /** Of a call whose header or chunks cannot be served. */
    static Refusal chunkError(String problem) {
        return new Refusal(null, problem, Answer.ERR_CHUNK, null);
    }

    /** As above, with a counter of its own. */
    static Refusal chunkError(RpcRdmaCounter counter, String problem) {
        return new Refusal(counter, problem, Answer.ERR_CHUNK, null);
    }

    /** Of a call whose reply fits into nothing that was offered for it. */
    static Refusal replyTooLong(String problem) {
        return new Refusal(null, problem, Answer.ERR_CHUNK, new ReplyTooLongException(problem));
    }

    /** Of an optional operation that has no handler here. */
    static Refusal unknownOption(int type) {
        String problem = "option type 0x" + Integer.toHexString(type);
        return new Refusal(null, problem, Answer.INVAL_OPTION, null);
    }

    /** Of a call whose arguments do not parse: that is for RPC to say, not for the transport (RFC 8166, 4.5.2). */
    static Refusal garbageArguments(String problem) {
        return new Refusal(null, problem, Answer.GARBAGE_ARGS, null);
    }

    /** Of a call that code of the user, or a lack of memory, keeps from its handler, or from its reply. */
    static Refusal systemError(Throwable cause) {
        return new Refusal(null, cause.toString(), Answer.SYSTEM_ERR, cause);
    }

    /** Of a reply that is not what its call has asked for. */
    static Refusal badReply(RpcRdmaException exception) {
        return new Refusal(null, exception.getMessage(), Answer.CALL_FAILS, exception);
    }

    /** Of a message after which the connection cannot go on. */
    static Refusal close(RpcRdmaCounter counter, String problem) {
        return new Refusal(counter, problem, Answer.CLOSE, null);
    }

    /** As above, for a Read that was not carried out: what it was for is lost with the connection. */
    static Refusal readFailed() {
        return close(null, "an RDMA Read has failed");
    }
}
