// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.io.IOException;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcTransport;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;

/** Makes the same call by the typed layer. */
public final class TypedCaller implements Caller {

    private final RpcClient client;

    public TypedCaller(RpcTransport transport) {
        client = new RpcClient(transport, ReadProcedure.PROGRAM, ReadProcedure.VERSION);
    }

    @Override
    public void call(GenericFutureListener<Future<Integer>> listener) {
        client.call(ReadProcedure.NUMBER, TypedCaller::write, TypedCaller::read)
                .addListener(listener);
    }

    private static void write(XdrWriter out) {
        out.writeInt(ReadProcedure.HANDLE_BYTES).writeLong(ReadProcedure.HANDLE);
        out.writeLong(0).writeInt(ReadProcedure.COUNT);
    }

    private static Integer read(XdrReader in) throws IOException {
        if (in.readInt() != 0 || in.readBoolean()) {
            throw new IOException("no data");
        }
        in.skip(8);
        ByteBuf data = in.readOpaqueSlice(ReadProcedure.COUNT);
        try {
            return data.readableBytes();
        } finally {
            data.release();
        }
    }
}
