// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.buffer.*;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.RpcClient;

/** A result that the server writes into memory of the caller, without a copy. */
public final class SinkExample {

    private SinkExample() {}

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.builder()
                .bindings(BindingRegistry.standard().with(new BlobProgram()))
                .build();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        ByteBuf memory = Unpooled.directBuffer(500_000, 500_000);
        try {
            SocketAddress server = BlobProgram.serve(group, config);
            RpcRdmaClient client = RpcRdmaClient.builder(group, server).config(config).build();
            RpcClient blobs = new RpcClient(client, BlobProgram.PROGRAM, 1);
            RpcMessage call = blobs.newCall(1, out -> out.writeInt(500_000)).addSink(memory.retain());
            RpcMessage reply = blobs.call(call).get();
            System.out.println("in the message: " + reply.content().readableBytes() + " bytes");
            System.out.println("in the sink: " + memory.readableBytes() + " bytes");
            reply.release();
        } finally {
            memory.release();
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
