// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The parts of an RPC message (RFC 5531, 9) that the transport has to look at. Used again for message after message.
 */
public final class OncRpcHeaderDecoder {

    public static final int CALL = 0;
    public static final int REPLY = 1;

    /** XID and message type. */
    public static final int DIRECTION_BYTES = 8;

    /** XID, type, RPC version, program, version, procedure and two empty authenticators. */
    public static final int MINIMUM_CALL_BYTES = 40;

    /** XID, type, MSG_DENIED, AUTH_ERROR and why. */
    public static final int MINIMUM_REPLY_BYTES = 20;

    /** XID, type, reply status, verifier flavor and length, accept status. */
    public static final int REPLY_HEADER_BYTES = 24;

    /** The longest body of a verifier (RFC 5531, 8.2). */
    public static final int MAXIMUM_VERIFIER_BYTES = 400;

    /** GARBAGE_ARGS as accept status. */
    public static final int GARBAGE_ARGS = 4;

    /** SYSTEM_ERR as accept status. */
    public static final int SYSTEM_ERR = 5;

    public static final int RPC_VERSION = 2;
    private static final int RPCSEC_GSS = 6;
    private static final int GSS_DATA = 0;
    private static final int GSS_SERVICE_NONE = 1;

    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    /** As many bytes as the shortest call has, taken out of the buffer at once: it checks each access, however wide. */
    private final byte[] words = new byte[MINIMUM_CALL_BYTES];

    /** How many of the bytes are of the message that was taken last. */
    private int taken;

    /** Of the message that was taken by {@link #decodeStart} last. */
    public int xid;

    /** Of the same message: {@link #CALL}, {@link #REPLY} or invalid. */
    public int type;

    public int program;
    public int version;
    public int procedure;
    public int argumentsIndex;

    /**
     * Whether items may leave the payload stream: not those of a GSS context message, and none at all under the
     * integrity or the privacy service (RFC 8166, 8.2.2).
     */
    public boolean reductionAllowed;

    /**
     * Whether this is an RPC message of that type, as far as its first two words tell.
     *
     * @param payload XID first; {@code null} is none
     */
    public static boolean isOfType(ByteBuf payload, int type) {
        return payload != null
                && payload.readableBytes() >= DIRECTION_BYTES
                && payload.getInt(payload.readerIndex() + 4) == type;
    }

    /**
     * Whether this is a call or a reply, as far as its first two words tell.
     *
     * @param payload XID first
     */
    public static boolean isMessage(ByteBuf payload) {
        return payload.readableBytes() >= DIRECTION_BYTES
                && isType(payload.getInt(payload.readerIndex() + 4));
    }

    /** Whether it is the type of a call or a reply. */
    public static boolean isType(int type) {
        return (type & ~REPLY) == CALL;
    }

    /**
     * Decodes the first words of a message: {@link #xid}, {@link #type}, and what {@link #decodeCall} looks at.
     *
     * @return whether there are an XID and a type
     */
    public boolean decodeStart(ByteBuf message) {
        taken = Math.min(MINIMUM_CALL_BYTES, message.readableBytes());
        message.getBytes(message.readerIndex(), words, 0, taken);
        xid = (int) INT.get(words, 0);
        type = (int) INT.get(words, 4);
        return taken >= DIRECTION_BYTES;
    }

    /** Decodes a call; {@code false} if the message is not a valid RPC call. */
    public boolean decode(ByteBuf in, int start, int end) {
        taken = Math.min(MINIMUM_CALL_BYTES, end - start);
        in.getBytes(start, words, 0, taken);
        return decodeCall(in, start, end);
    }

    /** As {@link #decode}, for the message that was {@linkplain #decodeStart decoded} last. */
    public boolean decodeCall(ByteBuf in, int start, int end) {
        reductionAllowed = false;
        if (taken < MINIMUM_CALL_BYTES) {
            return false;
        }
        if ((int) INT.get(words, 4) != CALL || (int) INT.get(words, 8) != RPC_VERSION) {
            return false;
        }
        program = (int) INT.get(words, 12);
        version = (int) INT.get(words, 16);
        procedure = (int) INT.get(words, 20);
        if ((int) INT.get(words, 24) != RPCSEC_GSS
                && (int) INT.get(words, 28) == 0
                && (int) INT.get(words, 36) == 0) {
            // Both authenticators are empty, as those of NULL are.
            argumentsIndex = start + MINIMUM_CALL_BYTES;
            reductionAllowed = true;
            return true;
        }
        int credential = start + 24;
        int verifier = skipAuthenticator(in, credential, end);
        if (verifier < 0) {
            return false;
        }
        argumentsIndex = skipAuthenticator(in, verifier, end);
        if (argumentsIndex < 0) {
            return false;
        }
        reductionAllowed =
                in.getInt(credential) != RPCSEC_GSS || isPlainGss(in, credential + 8, verifier);
        return true;
    }

    private static boolean isPlainGss(ByteBuf in, int body, int end) {
        // Version, procedure, sequence number, service (RFC 2203, 5).
        return end - body >= 16
                && in.getInt(body + 4) == GSS_DATA
                && in.getInt(body + 12) == GSS_SERVICE_NONE;
    }

    /** The index after a flavor and an opaque body of at most 400 bytes; -1 when that is not there. */
    private static int skipAuthenticator(ByteBuf in, int index, int end) {
        if (end - index < 8) {
            return -1;
        }
        long length = in.getUnsignedInt(index + 4);
        if (length > MAXIMUM_VERIFIER_BYTES || ((length + 3) & ~3L) > end - index - 8) {
            return -1;
        }
        return index + 8 + (((int) length + 3) & ~3);
    }

    /**
     * Index of the results of a reply; -1 if the call was not executed successfully or the reply is truncated. Forgets
     * what was {@linkplain #decodeStart decoded} last.
     */
    public int resultsIndex(ByteBuf in, int start, int end) {
        taken = Math.min(MINIMUM_CALL_BYTES, end - start);
        if (taken < REPLY_HEADER_BYTES) {
            return -1;
        }
        in.getBytes(start, words, 0, taken);
        if ((int) INT.get(words, 4) != REPLY || (int) INT.get(words, 8) != 0) {
            return -1;
        }
        if ((int) INT.get(words, 16) == 0) {
            // The verifier is empty, as that of AUTH_NONE is.
            return (int) INT.get(words, 20) == 0 ? start + REPLY_HEADER_BYTES : -1;
        }
        int status = skipAuthenticator(in, start + 12, end);
        return status >= 0 && end - status >= 4 && in.getInt(status) == 0 ? status + 4 : -1;
    }
}
