// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;

/**
 * The header of a reply (RFC 5531, 9), from the XID to the status; results follow if the status is
 * {@link Status#SUCCESS}. All numbers are unsigned and in network byte order.
 *
 * @param xid of the call
 * @param status outcome of the call
 * @param verifier of the responder; {@link OpaqueAuth#NONE} where the call was denied, which has none
 * @param low the lowest version with PROG_MISMATCH and RPC_MISMATCH, the {@code auth_stat} with AUTH_ERROR, otherwise 0
 * @param high the highest version with PROG_MISMATCH and RPC_MISMATCH, otherwise 0
 */
public record ReplyHeader(int xid, Status status, OpaqueAuth verifier, int low, int high) {

    /** Outcome of a call: {@code accept_stat}, then {@code reject_stat}. */
    public enum Status {
        /** The call was executed, and the results follow. */
        SUCCESS(MSG_ACCEPTED, 0, 0),
        /** There is no such program. */
        PROG_UNAVAIL(MSG_ACCEPTED, 1, 0),
        /** There are only other versions of the program. */
        PROG_MISMATCH(MSG_ACCEPTED, 2, 2),
        /** There is no such procedure. */
        PROC_UNAVAIL(MSG_ACCEPTED, 3, 0),
        /** The arguments cannot be read. */
        GARBAGE_ARGS(MSG_ACCEPTED, 4, 0),
        /** Something else is wrong on the responder's side. */
        SYSTEM_ERR(MSG_ACCEPTED, 5, 0),
        /** Denied: there are only other versions of RPC. */
        RPC_MISMATCH(MSG_DENIED, 0, 2),
        /** Denied: the caller is not believed. */
        AUTH_ERROR(MSG_DENIED, 1, 1);

        private static final Status[] ALL = values();

        final int state;
        final int word;

        /** How many words follow. */
        final int details;

        Status(int state, int word, int details) {
            this.state = state;
            this.word = word;
            this.details = details;
        }

        boolean isAccepted() {
            return state == MSG_ACCEPTED;
        }

        static Status read(int state, int word) throws MalformedXdrException {
            for (Status status : ALL) {
                if (status.state == state && status.word == word) {
                    return status;
                }
            }
            throw new MalformedHeaderException(
                    "reply with state "
                            + Integer.toUnsignedString(state)
                            + " and status "
                            + Integer.toUnsignedString(word)
                            + " (expected: 0 and at most 5, or 1 and at most 1)");
        }
    }

    private static final int MSG_ACCEPTED = 0;
    private static final int MSG_DENIED = 1;
    private static final int REPLY = 1;
    private static final int LAST_FRAGMENT = 0x80000000;

    /**
     * A reply that needs nothing but its status: not one of the mismatches, and not AUTH_ERROR.
     *
     * @param xid of the call
     * @param status such as {@code SUCCESS}, after which the results follow
     * @return a header with an empty verifier
     */
    public static ReplyHeader of(int xid, Status status) {
        if (status.details > 0) {
            throw new IllegalArgumentException(status + " (expected: one without more words)");
        }
        return new ReplyHeader(xid, status, OpaqueAuth.NONE, 0, 0);
    }

    /**
     * The program has only these versions.
     *
     * @param xid of the call
     * @param low the lowest version that there is, unsigned
     * @param high the highest version that there is, unsigned
     * @return a header that is a whole reply
     */
    public static ReplyHeader programMismatch(int xid, int low, int high) {
        return new ReplyHeader(xid, Status.PROG_MISMATCH, OpaqueAuth.NONE, low, high);
    }

    /**
     * Only these versions of RPC are spoken.
     *
     * @param xid of the call
     * @param low the lowest version that there is, unsigned
     * @param high the highest version that there is, unsigned
     * @return a header that is a whole reply
     */
    public static ReplyHeader rpcMismatch(int xid, int low, int high) {
        return new ReplyHeader(xid, Status.RPC_MISMATCH, OpaqueAuth.NONE, low, high);
    }

    /**
     * The caller is not believed, for a reason that is an {@code auth_stat}.
     *
     * @param xid of the call
     * @param authStatus an {@code auth_stat} (RFC 5531, 9), from 1
     * @return a header that is a whole reply
     */
    public static ReplyHeader authError(int xid, int authStatus) {
        return new ReplyHeader(xid, Status.AUTH_ERROR, OpaqueAuth.NONE, authStatus, 0);
    }

    /**
     * {@return whether a message is a reply, as far as its second word tells}
     *
     * @param message at the XID; its indices are left alone
     */
    public static boolean isIn(ByteBuf message) {
        return message.readableBytes() >= 8 && message.getInt(message.readerIndex() + 4) == REPLY;
    }

    /**
     * {@return whether a record of one fragment is a reply behind its mark (RFC 5531, 11)}
     *
     * @param record at the mark; its indices are left alone
     */
    static boolean isInRecord(ByteBuf record) {
        int index = record.readerIndex();
        int length = record.readableBytes() - 4;
        return length >= 8
                && record.getInt(index) == (LAST_FRAGMENT | length)
                && record.getInt(index + 8) == REPLY;
    }

    /**
     * Takes the header out of a message.
     *
     * @param in read up to the results, or to its end; stays the caller's
     * @return the header; {@code in} is at the results now
     * @throws MalformedXdrException if the message is not a reply, has an unknown status, or is truncated
     */
    public static ReplyHeader read(ByteBuf in) throws MalformedXdrException {
        int xid = XdrReader.readInt(in);
        int type = XdrReader.readInt(in);
        if (type != REPLY) {
            throw new MalformedHeaderException(
                    "message of type "
                            + Integer.toUnsignedString(type)
                            + " (expected: 1, a reply)");
        }
        int state = XdrReader.readInt(in);
        OpaqueAuth verifier = state == MSG_ACCEPTED ? OpaqueAuth.read(in) : OpaqueAuth.NONE;
        Status status = Status.read(state, XdrReader.readInt(in));
        int low = status.details > 0 ? XdrReader.readInt(in) : 0;
        int high = status.details > 1 ? XdrReader.readInt(in) : 0;
        return new ReplyHeader(xid, status, verifier, low, high);
    }

    /** {@return how many bytes {@link #writeTo} appends: a multiple of 4, from 20 to 432} */
    public int encodedBytes() {
        return 16 + (status.isAccepted() ? verifier.encodedBytes() : 0) + 4 * status.details;
    }

    /**
     * Appends the header.
     *
     * @param out stays the caller's
     */
    public void writeTo(ByteBuf out) {
        out.writeInt(xid).writeInt(REPLY).writeInt(status.state);
        if (status.isAccepted()) {
            verifier.writeTo(out);
        }
        out.writeInt(status.word);
        if (status.details > 0) {
            out.writeInt(low);
        }
        if (status.details > 1) {
            out.writeInt(high);
        }
    }
}
