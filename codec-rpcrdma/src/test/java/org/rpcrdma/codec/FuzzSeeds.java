// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** Messages that the scripts of several targets are made of. */
final class FuzzSeeds {

    static final int CALL = OncRpcHeaderDecoder.CALL;
    static final int REPLY = OncRpcHeaderDecoder.REPLY;
    static final int MSG = TransportHeader.RDMA_MSG;
    static final int NOMSG = TransportHeader.RDMA_NOMSG;
    static final int CREDITS = 16;

    private FuzzSeeds() {}

    static TransportHeader one(int xid, int proc) {
        return new TransportHeader().set(xid, CREDITS, proc);
    }

    static TransportHeader two(int xid, int proc, int direction) {
        return new TransportHeader()
                .set(xid, TransportHeader.VERSION_TWO, CREDITS, proc, direction);
    }

    /** A header of either version. */
    static TransportHeader header(int version, int xid, int proc, int direction) {
        return version == TransportHeader.VERSION_TWO ? two(xid, proc, direction) : one(xid, proc);
    }

    /** With one segment of this side's memory in the Read list. */
    static TransportHeader reading(TransportHeader header, int position, int handle, int length) {
        header.reads().add(position, FuzzScript.own(handle), length, 0);
        return header;
    }

    static ByteBuf hex(String words) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(words.replace(" ", "")));
    }

    static ByteBuf error(int xid, int version, int code) {
        ByteBuf out = Unpooled.buffer();
        RdmaErrorMessage.encode(out, xid, version, CREDITS, code);
        return out;
    }

    static ByteBuf versionError(int xid, int version, int lowest, int highest) {
        return error(xid, version, RdmaErrorMessage.ERR_VERS).writeInt(lowest).writeInt(highest);
    }

    static ByteBuf option(int xid, int direction, int type, byte[] information, ByteBuf payload) {
        ByteBuf out = Unpooled.buffer();
        OptionalOperationMessage.encodeHeader(
                out, xid, CREDITS, direction, type, information.length);
        out.writeBytes(information).writeZero(-information.length & 3).writeBytes(payload);
        payload.release();
        return out;
    }

    static ByteBuf completion(int xid) {
        return option(xid, CALL, FuzzRun.COMPLETION, new byte[0], Unpooled.buffer(0));
    }

    static byte[] echo(int xid, int length) {
        return Rpc.bytes(Rpc.echo(xid, length));
    }

    static byte[] reply(int xid, int length) {
        return Rpc.bytes(ReadChunks.reply(xid, length));
    }
}
