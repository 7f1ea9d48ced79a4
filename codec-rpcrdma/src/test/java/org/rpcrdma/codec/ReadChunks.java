// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;

/** What the tests of replies in Read chunks have in common. */
final class ReadChunks {

    private ReadChunks() {}

    static RpcRdmaConfig.Builder builder(ReplyChunks when) {
        return Enumeration.builder()
                .readChunkReplies(ReadChunkReplyConfig.DEFAULT.withReplyChunks(when));
    }

    /** On, without Reply chunks. */
    static RpcRdmaConfig config() {
        return builder(ReplyChunks.NEVER).build();
    }

    /** A whole reply of so many bytes. */
    static ByteBuf reply(int xid, int length) {
        return Rpc.reply(xid).writeBytes(Rpc.random(length - 24));
    }

    static ByteBuf direct(ByteBuf heap) {
        try {
            return Unpooled.directBuffer(heap.readableBytes()).writeBytes(heap);
        } finally {
            heap.release();
        }
    }

    static ByteBuf done(int xid) {
        return Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(32).writeInt(3);
    }
}
