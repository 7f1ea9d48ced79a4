// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.RpcClient;

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
            int length = new RpcClient(client, BlobProgram.PROGRAM, 1)
                    .call(1, out -> out.writeInt(500_000), in -> in.readOpaque(BlobProgram.MOST).length).get();
            System.out.println("reply: " + length + " bytes");
            System.out.println("placed by RDMA Write: "
                    + client.metrics().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED) + " bytes");
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
