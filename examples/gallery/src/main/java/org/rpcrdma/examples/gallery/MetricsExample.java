// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.micrometer.prometheusmetrics.*;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.metrics.*;
import org.rpcrdma.codec.rpc.RpcClient;

/** The meters of a client, a server and their event loop as Prometheus scrapes them. */
public final class MetricsExample {

    private MetricsExample() {}

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        new RpcRdmaMeterBinder(metrics).bindTo(registry);
        new RdmaMeterBinder(group).bindTo(registry);
        try {
            SocketAddress server = BlobProgram.serve(group, config, metrics);
            RpcRdmaClient client = RpcRdmaClient.builder(group, server).config(config).metrics(metrics).build();
            RpcClient blobs = new RpcClient(client, BlobProgram.PROGRAM, 1);
            for (int i = 0; i < 3; i++) {
                blobs.call(1, out -> out.writeInt(1000)).get().release();
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
