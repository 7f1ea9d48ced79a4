// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;

/**
 * The header of a call (RFC 5531, 9), from the XID to the verifier; the arguments follow. All numbers are unsigned and
 * in network byte order.
 *
 * @param xid overwritten by a client of this library
 * @param program the RPC program
 * @param version of the program
 * @param procedure of that version
 * @param credential who calls
 * @param verifier what proves it; {@link OpaqueAuth#NONE} for most flavors
 */
public record CallHeader(
        int xid,
        int program,
        int version,
        int procedure,
        OpaqueAuth credential,
        OpaqueAuth verifier) {

    private static final int CALL = 0;
    private static final int RPC_VERSION = 2;
    private static final int FIXED_BYTES = 24;

    /** The longest header, in bytes. */
    public static final int MAXIMUM_BYTES = FIXED_BYTES + 2 * (8 + OpaqueAuth.MAXIMUM_BODY);

    /** The call has an RPC version other than 2. */
    public static final class RpcMismatchException extends MalformedHeaderException {

        private static final long serialVersionUID = 1L;

        private final int xid;

        RpcMismatchException(int xid, int version) {
            super("RPC version " + Integer.toUnsignedString(version) + " (expected: 2)");
            this.xid = xid;
        }

        /**
         * Creates the header of an answer (RFC 5531, 9).
         *
         * @return a header with the XID of the call, for every status but SUCCESS; what follows SUCCESS is the results
         */
        public ReplyHeader reply() {
            return ReplyHeader.rpcMismatch(xid, RPC_VERSION, RPC_VERSION);
        }
    }

    /**
     * A header with XID 0 and an empty verifier.
     *
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @param procedure of that version, unsigned
     * @param credential who calls
     * @return a header to be written in front of the arguments
     */
    public static CallHeader of(int program, int version, int procedure, OpaqueAuth credential) {
        return new CallHeader(0, program, version, procedure, credential, OpaqueAuth.NONE);
    }

    /**
     * {@return whether a message is a call, as far as its second word tells}
     *
     * @param message at the XID; its indices are left alone
     */
    public static boolean isIn(ByteBuf message) {
        return message.readableBytes() >= 8 && message.getInt(message.readerIndex() + 4) == CALL;
    }

    /**
     * Takes the header out of a message.
     *
     * @param in read up to the arguments; stays the caller's
     * @return the header; {@code in} is at the arguments now
     * @throws RpcMismatchException if the call has an RPC version other than 2
     * @throws MalformedXdrException if the message is not a call, or truncated
     */
    public static CallHeader read(ByteBuf in) throws MalformedXdrException {
        int xid = XdrReader.readInt(in);
        int type = XdrReader.readInt(in);
        if (type != CALL) {
            throw new MalformedHeaderException(
                    "message of type " + Integer.toUnsignedString(type) + " (expected: 0, a call)");
        }
        int rpcVersion = XdrReader.readInt(in);
        if (rpcVersion != RPC_VERSION) {
            throw new RpcMismatchException(xid, rpcVersion);
        }
        return new CallHeader(
                xid,
                XdrReader.readInt(in),
                XdrReader.readInt(in),
                XdrReader.readInt(in),
                OpaqueAuth.read(in),
                OpaqueAuth.read(in));
    }

    /** {@return how many bytes {@link #writeTo} appends: a multiple of 4, from 40 to {@link #MAXIMUM_BYTES}} */
    public int encodedBytes() {
        return FIXED_BYTES + credential.encodedBytes() + verifier.encodedBytes();
    }

    /**
     * Appends the header.
     *
     * @param out stays the caller's
     */
    public void writeTo(ByteBuf out) {
        out.writeInt(xid).writeInt(CALL).writeInt(RPC_VERSION);
        out.writeInt(program).writeInt(version).writeInt(procedure);
        credential.writeTo(out);
        verifier.writeTo(out);
    }
}
