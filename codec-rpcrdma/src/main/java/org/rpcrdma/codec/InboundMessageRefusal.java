// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Reason to refuse a message, with its consequences: counter, log line, answer to the peer and exception for the user.
 * {@link ConnectionSharedState#report} counts and logs it; the role that holds the message answers. Immutable.
 *
 * @param counter of this reason, in addition to the counter of the answer; {@code null} for none
 * @param problem text for the log and for the user
 * @param answer to the peer
 * @param exception for the user of this side; {@code null} if no call waits for an outcome
 */
record InboundMessageRefusal(
        RpcRdmaCounter counter, String problem, Answer answer, Throwable exception) {

    /** Answer to the peer (RFC 8166, 4.5; RFC 5531, 9). */
    enum Answer {
        /** Nothing: only calls are answered. */
        NONE("dropped", null),

        /** ERR_VERS (RFC 8166, 4.5.1). Not logged: requesters probe for versions in this way. */
        ERR_VERS(null, RpcRdmaCounter.VERSION_ERRORS_SENT),

        /** ERR_CHUNK, or BAD_HEADER in version 2 (RFC 8166, 4.5.2 and 4.5.3). */
        ERR_CHUNK("answered with ERR_CHUNK", RpcRdmaCounter.CHUNK_ERRORS_SENT),

        /** INVAL_OPTION of version 2 (draft, 4.2.2). */
        INVAL_OPTION("answered with INVAL_OPTION", RpcRdmaCounter.OPTION_ERRORS_SENT),

        /** An RPC reply: the transport header is valid, the arguments are not. */
        GARBAGE_ARGS("answered with GARBAGE_ARGS", RpcRdmaCounter.GARBAGE_ARGS_SENT),

        /** An RPC reply: this side could not execute the call, or could not send its reply; logged with its cause. */
        SYSTEM_ERR(null, RpcRdmaCounter.SYSTEM_ERRORS_SENT),

        /** Nothing: the message is a reply, and its call fails. */
        CALL_FAILS("the call fails", RpcRdmaCounter.BAD_REPLIES),

        /** Close of the connection (RFC 8166, 4.5.4). */
        CLOSE(null, null);

        private final String action;
        private final RpcRdmaCounter counter;

        Answer(String action, RpcRdmaCounter counter) {
            this.action = action;
            this.counter = counter;
        }

        /** Second half of the log line; {@code null} if there is no line, or another. */
        String action() {
            return action;
        }

        /** Counter of the answers of this kind; {@code null} for none. */
        RpcRdmaCounter counter() {
            return counter;
        }
    }

    /** Refusal of a message that must not be answered, because it is not certain to be a call. */
    static InboundMessageRefusal drop(RpcRdmaCounter counter, String problem) {
        return new InboundMessageRefusal(counter, problem, Answer.NONE, null);
    }

    /** Refusal of a message in an unsupported version. */
    static InboundMessageRefusal unsupportedVersion(int version) {
        String problem = "version " + Integer.toUnsignedString(version);
        return new InboundMessageRefusal(null, problem, Answer.ERR_VERS, null);
    }

    /** Refusal of a call with an invalid header or unusable chunks. */
    static InboundMessageRefusal chunkError(String problem) {
        return new InboundMessageRefusal(null, problem, Answer.ERR_CHUNK, null);
    }

    /** As above, with an additional counter. */
    static InboundMessageRefusal chunkError(RpcRdmaCounter counter, String problem) {
        return new InboundMessageRefusal(counter, problem, Answer.ERR_CHUNK, null);
    }

    /** Refusal of a call whose reply fits none of the offered chunks. */
    static InboundMessageRefusal replyTooLong(String problem) {
        return new InboundMessageRefusal(
                null, problem, Answer.ERR_CHUNK, new OutboundReplyTooLongException(problem));
    }

    /** Refusal of an optional operation without a handler. */
    static InboundMessageRefusal unknownOption(int type) {
        String problem = "option type 0x" + Integer.toHexString(type);
        return new InboundMessageRefusal(null, problem, Answer.INVAL_OPTION, null);
    }

    /**
     * Refusal of a call whose arguments do not parse, which is an RPC error, not a transport error (RFC
     * 8166, 4.5.2).
     */
    static InboundMessageRefusal garbageArguments(String problem) {
        return new InboundMessageRefusal(null, problem, Answer.GARBAGE_ARGS, null);
    }

    /** Refusal of a call that user code or a lack of memory keeps from being delivered or answered. */
    static InboundMessageRefusal systemError(Throwable cause) {
        return new InboundMessageRefusal(null, cause.toString(), Answer.SYSTEM_ERR, cause);
    }

    /** Refusal of a reply that does not match its call. */
    static InboundMessageRefusal badReply(RpcRdmaException exception) {
        return new InboundMessageRefusal(
                null, exception.getMessage(), Answer.CALL_FAILS, exception);
    }

    /** Refusal of a message that ends the connection. */
    static InboundMessageRefusal close(RpcRdmaCounter counter, String problem) {
        return new InboundMessageRefusal(counter, problem, Answer.CLOSE, null);
    }

    /** As above, for a failed RDMA Read: its message is lost with the connection. */
    static InboundMessageRefusal readFailed() {
        return close(null, "an RDMA Read has failed");
    }
}
