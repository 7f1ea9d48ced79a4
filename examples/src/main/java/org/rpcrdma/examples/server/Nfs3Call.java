// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.apache.hadoop.oncrpc.XDR;

/** A call whose arguments are well-formed. */
record Nfs3Call(int xid, ByteBuf arguments, Caller caller, ByteBufAllocator allocator) {

    /** The arguments for Hadoop's request classes, from the first one on. */
    XDR in() {
        return new XDR(arguments.nioBuffer(), XDR.State.READING);
    }
}
