// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Where the words of a ring are, from the beginning of its control bytes. Words that different ends write are on cache
 * lines of their own, two lines apart, because processors fetch them in pairs. They are in the byte order of the
 * machine.
 */
final class RingLayout {

    /** Bytes that were written since the ring began; the writer's. */
    static final int TAIL = 0;

    /** The position whose byte is the first one of the ring's memory; the writer's, changed when the ring is empty. */
    static final int START = 8;

    /** Bytes that were read since the ring began; the reader's. */
    static final int HEAD = 128;

    /** 1 while the reader wants a doorbell when there are bytes; whoever rings takes it back. */
    static final int READER_SLEEPS = 256;

    /** 1 while the writer wants a doorbell when there is room; whoever rings takes it back. */
    static final int WRITER_SLEEPS = 384;

    /** The control bytes of one ring. */
    static final int CONTROL_BYTES = 512;

    /** After so many bytes a position is published, so that one end copies in while the other one copies out. */
    static final int PORTION_BYTES = 16 * 1024;

    static final VarHandle LONGS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    static final VarHandle INTS =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    /** What a ring touches once its memory is gone: every access to it is refused. */
    static final ByteBuffer GONE = ByteBuffer.allocateDirect(0);

    private RingLayout() {}

    /** Sets a flag that the peer is to see before this end looks whether there is any need for it. */
    static void announce(ByteBuffer memory, int flag, boolean isSet) {
        INTS.setVolatile(memory, flag, isSet ? 1 : 0);
        VarHandle.fullFence();
    }

    /** Takes a flag of the peer back; returns whether it was set. Positions were published before. */
    static boolean takeFlag(ByteBuffer memory, int flag) {
        VarHandle.fullFence();
        return (int) INTS.getOpaque(memory, flag) != 0
                && (int) INTS.getAndSet(memory, flag, 0) != 0;
    }
}
