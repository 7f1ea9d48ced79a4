// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.testsuite.TestedEventLoops;
import org.rpcrdma.verbs.VerbsProvider;

/** Netty's testsuite runs on Netty's own event loops here, with RDMA as their I/O. */
public final class IoHandlerLoops implements TestedEventLoops {

    @Override
    public EventLoopGroup group(int loops, VerbsProvider provider) {
        return new MultiThreadIoEventLoopGroup(
                loops, RdmaIoHandler.newFactory(provider, PollMode.ADAPTIVE));
    }
}
