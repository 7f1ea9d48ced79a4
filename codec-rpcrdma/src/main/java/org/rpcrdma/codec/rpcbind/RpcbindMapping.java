// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A mapping of a service to its address: {@code struct rpcb} (RFC 1833, 2.1).
 *
 * @param program the RPC program, unsigned
 * @param version of the program, unsigned
 * @param netid network identifier, such as {@code rdma}
 * @param address universal address; empty where it is not known
 * @param owner who has registered the service
 */
record RpcbindMapping(int program, int version, String netid, String address, String owner) {

    /** The longest netid, address or owner that is accepted, in bytes. */
    static final int MAXIMUM_STRING = 1024;

    void writeTo(ByteBuf out) {
        out.writeInt(program).writeInt(version);
        writeString(out, netid);
        writeString(out, address);
        writeString(out, owner);
    }

    private static void writeString(ByteBuf out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length).writeBytes(bytes).writeZero(-bytes.length & 3);
    }

    private static RpcbindMapping read(ByteBuf in) throws RpcbindException {
        return new RpcbindMapping(
                readWord(in), readWord(in), readString(in), readString(in), readString(in));
    }

    /** Reads {@code rpcblist_ptr}: each element follows a word that is 1, and the end is a word that is 0. */
    static List<RpcbindMapping> readList(ByteBuf in) throws RpcbindException {
        List<RpcbindMapping> list = new ArrayList<>();
        while (readBoolean(in)) {
            list.add(read(in));
        }
        return list;
    }

    static boolean readBoolean(ByteBuf in) throws RpcbindException {
        int word = readWord(in);
        if (word != 0 && word != 1) {
            throw new RpcbindException(
                    "a truth value of " + Integer.toUnsignedString(word) + " (expected: 0 or 1)");
        }
        return word == 1;
    }

    static String readString(ByteBuf in) throws RpcbindException {
        int length = readWord(in);
        if (length < 0 || length > MAXIMUM_STRING) {
            throw new RpcbindException(
                    "a string of "
                            + Integer.toUnsignedString(length)
                            + " bytes (expected: at most "
                            + MAXIMUM_STRING
                            + ')');
        }
        require(in, length + 3 & ~3);
        String text = in.toString(in.readerIndex(), length, StandardCharsets.UTF_8);
        in.skipBytes(length + 3 & ~3);
        return text;
    }

    private static int readWord(ByteBuf in) throws RpcbindException {
        require(in, 4);
        return in.readInt();
    }

    private static void require(ByteBuf in, int bytes) throws RpcbindException {
        if (in.readableBytes() < bytes) {
            throw new RpcbindException(
                    "results that end after "
                            + in.readableBytes()
                            + " bytes (expected: "
                            + bytes
                            + ')');
        }
    }
}
