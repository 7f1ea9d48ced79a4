// SPDX-License-Identifier: Apache-2.0

/**
 * RPC-over-RDMA for Netty: the codec, its upper-layer bindings, and clients of it.
 *
 * @uses org.rpcrdma.codec.binding.UpperLayerBinding
 */
module org.rpcrdma.codec {
    requires transitive io.netty.buffer;
    requires transitive io.netty.common;
    requires transitive io.netty.transport;
    requires transitive org.rpcrdma.channel;
    requires io.netty.codec;
    requires io.netty.handler;
    // For the events of the flight recorder.
    requires static jdk.jfr;
    // For org.rpcrdma.codec.metrics.
    requires static micrometer.core;
    // For org.rpcrdma.codec.oncrpc4j.
    requires static org.dcache.oncrpc4j;
    requires static grizzly.framework;

    exports org.rpcrdma.codec;
    exports org.rpcrdma.codec.binding;
    exports org.rpcrdma.codec.capture;
    exports org.rpcrdma.codec.client;
    exports org.rpcrdma.codec.metrics;
    exports org.rpcrdma.codec.oncrpc4j;
    exports org.rpcrdma.codec.rpc;
    exports org.rpcrdma.codec.rpcbind;

    uses org.rpcrdma.codec.binding.UpperLayerBinding;
}
