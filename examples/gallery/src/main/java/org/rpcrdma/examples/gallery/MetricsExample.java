// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.micrometer.prometheusmetrics.*;
import io.netty.buffer.*;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.metrics.*;
import org.rpcrdma.codec.rpc.*;

/** The meters of a client, a server and their event loop as Prometheus scrapes them. */
public final class MetricsExample {

    private MetricsExample() {}

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        new RpcRdmaMeterBinder(config.metrics()).bindTo(registry);
        new RdmaMeterBinder(group).bindTo(registry);
        try {
            SocketAddress server = BlobProgram.serve(group, config);
            RpcRdmaClient client = RpcRdmaClient.builder(group, server).config(config).build();
            for (int i = 0; i < 3; i++) {
                ByteBuf call = Unpooled.buffer();
                CallHeader.of(BlobProgram.PROGRAM, 1, 1, OpaqueAuth.NONE).writeTo(call);
                client.call(call.writeInt(1000)).get().release();
            }
            registry.scrape().lines()
                    .filter(line -> line.startsWith("rpcrdma_calls_total") || line.startsWith("rdma_channels"))
                    .forEach(System.out::println);
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            registry.close();
        }
    }
}
