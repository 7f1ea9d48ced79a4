// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Finds the record mark of TCP (RFC 5531, 11) in front of an outbound RPC message. Handlers that come from a TCP
 * pipeline may write it; what tells such a record from a message without a mark is the structure alone, whatever the
 * XIDs are.
 *
 * <p>Without a mark the second word is the message type, 0 or 1; in a record it is the XID. So only the XIDs 0 and 1
 * need a second look, at what would follow:
 *
 * <ul>
 *   <li>A call without a mark has its RPC version, 2, where a record has its message type.
 *   <li>A denied reply without a mark has 20 or 24 bytes, and would be a record with a reply of 16 or 20: too short for
 *       a denied one, or an accepted one, respectively.
 *   <li>An accepted reply without a mark has the flavor and the length of its verifier where a record has the RPC
 *       version and the program of a call. The length is at most 400 bytes, and no program has such a number.
 * </ul>
 */
public final class OutboundRecordMarkDetector {

    public static final int BYTES = 4;

    private static final int LAST_FRAGMENT = 0x80000000;

    /** All examined bytes are in the first fragment. */
    private static final int FIRST_FRAGMENT_MIN = OncRpcHeaderDecoder.MINIMUM_REPLY_BYTES;

    private static final int MSG_ACCEPTED = 0;
    private static final int MSG_DENIED = 1;

    private OutboundRecordMarkDetector() {}

    /**
     * The message without its mark, if it has one and is exactly one record; otherwise the message itself.
     *
     * @param message belongs to the caller as before, unless another one is returned, which does then
     */
    public static ByteBuf without(ByteBuf message, ByteBufAllocator allocator) {
        int start = message.readerIndex();
        int end = message.writerIndex();
        if (end - start < BYTES + FIRST_FRAGMENT_MIN) {
            return message;
        }
        int mark = message.getInt(start);
        int first = mark & ~LAST_FRAGMENT;
        int most = end - start - BYTES;
        // The header of what would follow decides first: the data of nearly no message are
        // walked through.
        if (first < FIRST_FRAGMENT_MIN || first > most || !isRpc(message, start + BYTES, most)) {
            return message;
        }
        if (mark < 0) {
            return first == most ? message.skipBytes(BYTES) : message;
        }
        int bytes = joinedBytes(message, start, end);
        return bytes >= 0 && isRpc(message, start + BYTES, bytes)
                ? joined(message, bytes, allocator)
                : message;
    }

    /**
     * Whether a message may have a mark, as far as its first two words tell.
     *
     * @param word the first one: the mark, or the XID
     * @param next the second one: the XID behind a mark, or the message type
     * @param bytes of the message
     */
    public static boolean mayHaveMark(int word, int next, int bytes) {
        int first = word & ~LAST_FRAGMENT;
        return !OncRpcHeaderDecoder.isType(next)
                || (first >= FIRST_FRAGMENT_MIN && first <= bytes - BYTES);
    }

    /** The bytes of all fragments together; -1 when they are not one record, from the start to the end. */
    private static int joinedBytes(ByteBuf message, int start, int end) {
        int bytes = 0;
        int index = start;
        while (end - index >= BYTES) {
            int mark = message.getInt(index);
            int fragment = mark & ~LAST_FRAGMENT;
            index += BYTES;
            if (fragment > end - index) {
                return -1;
            }
            index += fragment;
            bytes += fragment;
            if (mark < 0) {
                return index == end ? bytes : -1;
            }
        }
        return -1;
    }

    private static boolean isRpc(ByteBuf message, int index, int bytes) {
        int state = message.getInt(index + 8);
        return switch (message.getInt(index + 4)) {
            case OncRpcHeaderDecoder.CALL ->
                    bytes >= OncRpcHeaderDecoder.MINIMUM_CALL_BYTES
                            && state == OncRpcHeaderDecoder.RPC_VERSION
                            && message.getUnsignedInt(index + 12)
                                    > OncRpcHeaderDecoder.MAXIMUM_VERIFIER_BYTES;
            case OncRpcHeaderDecoder.REPLY ->
                    state == MSG_ACCEPTED
                            ? bytes >= OncRpcHeaderDecoder.REPLY_HEADER_BYTES
                            : state == MSG_DENIED
                                    && bytes >= OncRpcHeaderDecoder.MINIMUM_REPLY_BYTES;
            default -> false;
        };
    }

    private static ByteBuf joined(ByteBuf message, int bytes, ByteBufAllocator allocator) {
        ByteBuf whole = allocator.buffer(bytes);
        while (message.isReadable()) {
            whole.writeBytes(message, message.readInt() & ~LAST_FRAGMENT);
        }
        message.release();
        return whole;
    }
}
