// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.buffer.*;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.*;

/** Direct data placement by an upper-layer binding of one's own: {@link BlobProgram}. */
public final class BindingExample {

    private BindingExample() {}

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.builder()
                .bindings(BindingRegistry.standard().with(new BlobProgram()))
                .build();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            SocketAddress server = BlobProgram.serve(group, config);
            RpcRdmaClient client = RpcRdmaClient.builder(group, server).config(config).build();
            ByteBuf call = Unpooled.buffer();
            CallHeader.of(BlobProgram.PROGRAM, 1, 1, OpaqueAuth.NONE).writeTo(call);
            ByteBuf reply = client.call(call.writeInt(500_000)).get();
            System.out.println("reply: " + ReplyHeader.read(reply).status() + ", " + reply.readInt() + " bytes");
            System.out.println("placed by RDMA Write: "
                    + config.metrics().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED) + " bytes");
            reply.release();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
