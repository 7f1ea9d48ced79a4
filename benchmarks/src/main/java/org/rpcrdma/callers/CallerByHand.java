// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.io.IOException;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RpcTransport;

/** Writes and reads each word of a call and its reply, and checks what the typed layer checks. */
public final class CallerByHand implements Caller {

    private final RpcTransport transport;

    public CallerByHand(RpcTransport transport) {
        this.transport = transport;
    }

    @Override
    public void call(GenericFutureListener<Future<Integer>> listener) {
        ByteBuf call = ByteBufAllocator.DEFAULT.buffer(40 + 24);
        call.writeInt(0).writeInt(0).writeInt(2);
        call.writeInt(ReadProcedure.PROGRAM).writeInt(ReadProcedure.VERSION);
        call.writeInt(ReadProcedure.NUMBER);
        call.writeInt(0).writeInt(0).writeInt(0).writeInt(0);
        call.writeInt(ReadProcedure.HANDLE_BYTES).writeLong(ReadProcedure.HANDLE);
        call.writeLong(0).writeInt(ReadProcedure.COUNT);
        transport.exchange(call, CallOptions.DEFAULT, CallerByHand::read).addListener(listener);
    }

    private static Integer read(ByteBuf reply) throws IOException {
        try {
            if (reply.readableBytes() < 24 + 20) {
                throw new IOException("truncated");
            }
            reply.skipBytes(4);
            if (reply.readInt() != 1 || reply.readInt() != 0) {
                throw new IOException("no accepted reply");
            }
            reply.skipBytes(4);
            if (reply.readLong() != 0) {
                throw new IOException("no results");
            }
            if (reply.readLong() != 0) {
                throw new IOException("no data");
            }
            reply.skipBytes(8);
            int length = reply.readInt();
            if (length < 0 || length > ReadProcedure.COUNT || reply.readableBytes() < length) {
                throw new IOException("bad data");
            }
            ByteBuf data = reply.readSlice(length);
            return data.readableBytes();
        } finally {
            reply.release();
        }
    }
}
