// SPDX-License-Identifier: Apache-2.0

/** RDMA channels on the event loops of Netty 4.2. */
module org.rpcrdma.channel.io {
    requires transitive io.netty.common;
    requires transitive io.netty.transport;
    requires transitive org.rpcrdma.channel;

    exports org.rpcrdma.channel.io;
}
