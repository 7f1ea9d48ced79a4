// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.examples.nfs.NfsHandle;

/** The arguments of a call, who makes it, and memory for the data of a file until it is answered. */
final class Nfs3Call implements AutoCloseable {

    private static final int PATH_MAX = 4096;

    private final XdrReader in;
    private final Caller caller;
    private final ByteBufAllocator allocator;
    private ByteBuf data = Unpooled.EMPTY_BUFFER;

    Nfs3Call(ByteBuf arguments, Caller caller, ByteBufAllocator allocator) {
        in = new XdrReader(arguments);
        this.caller = caller;
        this.allocator = allocator;
    }

    Caller caller() {
        return caller;
    }

    XdrReader in() {
        return in;
    }

    NfsHandle readHandle() throws MalformedXdrException {
        return NfsHandle.read(in);
    }

    /** A file name or a path; that it is too long for a name is for the procedure to say. */
    String readName() throws MalformedXdrException {
        return in.readString(PATH_MAX);
    }

    /** Memory for data of a reply, in the place of earlier memory; released with the call. */
    ByteBuf newData(int bytes) {
        ByteBuf earlier = data;
        data = Unpooled.EMPTY_BUFFER;
        earlier.release();
        data = allocator.directBuffer(bytes);
        return data;
    }

    @Override
    public void close() {
        data.release();
    }
}
