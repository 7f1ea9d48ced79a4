// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import java.util.Random;

/** Builds RPC messages (RFC 5531, 9; RFC 1813) for tests. */
final class Rpc {

    static final int NFS = 100003;
    static final int READ = 6;
    static final int WRITE = 7;
    static final int READDIR = 16;
    static final int UNKNOWN = 0x20001234;

    private static final byte[] FILE_HANDLE = random(28);

    private Rpc() {}

    static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    static ByteBuf call(int xid, int program, int version, int procedure) {
        ByteBuf out = Unpooled.buffer();
        out.writeInt(xid)
                .writeInt(0)
                .writeInt(2)
                .writeInt(program)
                .writeInt(version)
                .writeInt(procedure);
        return out.writeZero(16); // AUTH_NONE twice
    }

    /** A call under RPCSEC_GSS: service 1 none, 2 integrity, 3 privacy. */
    static ByteBuf gssCall(int xid, int procedure, int service) {
        ByteBuf out = Unpooled.buffer();
        out.writeInt(xid).writeInt(0).writeInt(2).writeInt(NFS).writeInt(3).writeInt(procedure);
        out.writeInt(6)
                .writeInt(20)
                .writeInt(1)
                .writeInt(0)
                .writeInt(7)
                .writeInt(service)
                .writeInt(0);
        return out.writeZero(8);
    }

    static ByteBuf reply(int xid) {
        return Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(0).writeZero(12);
    }

    static ByteBuf opaque(ByteBuf out, byte[] data) {
        return out.writeInt(data.length).writeBytes(data).writeZero(-data.length & 3);
    }

    static ByteBuf write3(int xid, byte[] data) {
        ByteBuf out = opaque(call(xid, NFS, 3, WRITE), FILE_HANDLE);
        out.writeLong(4096).writeInt(data.length).writeInt(2);
        return opaque(out, data);
    }

    static ByteBuf read3(int xid, int count) {
        return opaque(call(xid, NFS, 3, READ), FILE_HANDLE).writeLong(0).writeInt(count);
    }

    static ByteBuf read3Reply(int xid, byte[] data) {
        ByteBuf out = reply(xid).writeInt(0).writeInt(1).writeBytes(random(84));
        return opaque(out.writeInt(data.length).writeInt(1), data);
    }

    static ByteBuf readdir3(int xid, int count) {
        return opaque(call(xid, NFS, 3, READDIR), FILE_HANDLE).writeZero(16).writeInt(count);
    }

    static ByteBuf echo(int xid, int length) {
        return call(xid, UNKNOWN, 1, 1).writeBytes(random(length));
    }

    static int xid(ByteBuf message) {
        return message.getInt(message.readerIndex());
    }

    static int xid(ReferenceCounted message) {
        return xid(
                message instanceof RpcMessage annotated ? annotated.content() : (ByteBuf) message);
    }

    static byte[] bytes(ByteBuf message) {
        try {
            return ByteBufUtil.getBytes(message);
        } finally {
            message.release();
        }
    }
}
