// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.testsuite;

import io.netty.channel.EventLoopGroup;
import org.rpcrdma.verbs.VerbsProvider;

/** A service: event loops to run Netty's testsuite on, in the place of {@code RdmaEventLoopGroup}. */
public interface TestedEventLoops {

    EventLoopGroup group(int loops, VerbsProvider provider);
}
