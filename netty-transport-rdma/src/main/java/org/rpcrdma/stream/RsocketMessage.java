// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/**
 * Messages of the rsocket protocol: 32 bits, with the kind in bits 31 to 29 and a value in the others. Over iWARP a
 * message is a Send of these 4 bytes in little-endian order; elsewhere it is the immediate data of an RDMA Write, in
 * big-endian order.
 */
public final class RsocketMessage {

    /** The length of a message in bytes. */
    public static final int BYTES = 4;

    /** Both directions are over. */
    public static final int DISCONNECT = 0xe000_0000;

    /** The sender's direction is over. */
    public static final int SHUTDOWN = 0xe000_0002;

    private static final int SGL = 0x8000_0000;
    private static final int KIND_SHIFT = 29;
    private static final int VALUE_MASK = (1 << KIND_SHIFT) - 1;

    /** The most bytes that one DATA message can count. */
    public static final int MAX_DATA = VALUE_MASK;

    /** What a message is about. */
    public enum Kind {
        /** The value is the number of bytes written since the last DATA message. */
        DATA,
        /** The value is the new credit limit; an entry of the target SGL may have been written before. */
        SGL,
        /** Announces memory for direct writes, which this implementation does not support. Costs a credit. */
        IOMAP,
        DISCONNECT,
        SHUTDOWN,
        /** No effect: a keep-alive of old versions, or a message of later versions. */
        IGNORED,
        /** Never sent. */
        RESERVED
    }

    private RsocketMessage() {}

    /** A DATA message for that number of bytes, 1 to {@link #MAX_DATA}. */
    public static int data(int bytes) {
        if (bytes <= 0 || bytes > MAX_DATA) {
            throw new IllegalArgumentException(
                    "DATA of " + bytes + " bytes (expected: 1 to " + MAX_DATA + ')');
        }
        return bytes;
    }

    /** An SGL message with the limit of DATA messages, of which the low 16 bits count. */
    public static int sgl(int limit) {
        return SGL | (limit & 0xffff);
    }

    /** Kind of a message. */
    public static Kind kind(int message) {
        return switch (message >>> KIND_SHIFT) {
            case 0 -> Kind.DATA;
            case 2 -> Kind.IGNORED;
            case 4 -> Kind.SGL;
            case 6 -> Kind.IOMAP;
            case 7 -> control(message);
            default -> Kind.RESERVED;
        };
    }

    private static Kind control(int message) {
        return switch (message) {
            case DISCONNECT -> Kind.DISCONNECT;
            case SHUTDOWN -> Kind.SHUTDOWN;
            default -> Kind.IGNORED;
        };
    }

    /** The value of a message. */
    public static int value(int message) {
        return message & VALUE_MASK;
    }

    /** For the log. */
    public static String toString(int message) {
        return kind(message) + String.format(" (0x%08x)", message);
    }
}
