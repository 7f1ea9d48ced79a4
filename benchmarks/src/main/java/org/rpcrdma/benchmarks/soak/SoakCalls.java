// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.benchmarks.Nfs3Messages;

/** Calls about a number, which is where READ and WRITE have the offset in the file (RFC 1813, 3.3.6 and 3.3.7). */
final class SoakCalls {

    private static final int OFFSET = 40 + 12;

    /** Where the data of a WRITE call begin. */
    static final int WRITE_DATA = OFFSET + 8 + 4 + 4 + 4;

    /** Bits of a number that count the calls of its client. */
    private static final int SEQUENCE_BITS = 48;

    private SoakCalls() {}

    static long number(int client, long sequence) {
        return (long) client << SEQUENCE_BITS | sequence;
    }

    static int client(long number) {
        return (int) (number >>> SEQUENCE_BITS);
    }

    static long number(ByteBuf call) {
        return call.getLong(call.readerIndex() + OFFSET);
    }

    static ByteBuf nothing() {
        return Nfs3Messages.nullCall(ByteBufAllocator.DEFAULT, 0);
    }

    static ByteBuf read(long number, int bytes) {
        return Nfs3Messages.readCall(ByteBufAllocator.DEFAULT, 0, bytes).setLong(OFFSET, number);
    }

    static ByteBuf write(long number, int bytes) {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer(bytes);
        try {
            Pattern.write(data, number, bytes);
            return Nfs3Messages.writeCall(ByteBufAllocator.DEFAULT, 0, data)
                    .setLong(OFFSET, number);
        } finally {
            data.release();
        }
    }
}
