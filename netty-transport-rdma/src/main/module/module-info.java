// SPDX-License-Identifier: Apache-2.0

/**
 * RDMA channels for Netty: registered memory, messages and streams of bytes on RDMA verbs, with a software RNIC.
 *
 * @provides org.rpcrdma.verbs.VerbsProvider
 * @uses org.rpcrdma.verbs.VerbsProvider
 */
// Modules that it exports to are built after this one.
@SuppressWarnings("module")
module org.rpcrdma.channel {
    requires transitive io.netty.buffer;
    requires transitive io.netty.common;
    requires transitive io.netty.transport;
    // Netty takes its direct buffers from sun.misc.Unsafe, and is no module that could say so.
    requires jdk.unsupported;
    requires java.management;
    // For events of the flight recorder.
    requires static jdk.jfr;
    // For RDMA hardware by DiSNI.
    requires static disni;

    exports org.rpcrdma;
    exports org.rpcrdma.channel;
    exports org.rpcrdma.channel.admission;
    exports org.rpcrdma.channel.internal to
            org.rpcrdma.channel.io,
            org.rpcrdma.codec;
    exports org.rpcrdma.verbs;
    exports org.rpcrdma.verbs.disni;
    exports org.rpcrdma.verbs.ffm;
    exports org.rpcrdma.verbs.iwarp;
    exports org.rpcrdma.verbs.iwarp.mpa;

    uses org.rpcrdma.verbs.VerbsProvider;

    provides org.rpcrdma.verbs.VerbsProvider with
            org.rpcrdma.verbs.iwarp.IwarpProvider,
            org.rpcrdma.verbs.disni.DisniProvider,
            org.rpcrdma.verbs.ffm.FfmProvider;
}
