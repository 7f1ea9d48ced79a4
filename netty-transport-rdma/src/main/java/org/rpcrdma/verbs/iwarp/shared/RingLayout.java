// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

/**
 * Offsets of the words of a ring within its control bytes. Words that different ends write are on cache lines of
 * their own, two lines apart, because processors fetch them in pairs. They are in the byte order of the machine.
 */
final class RingLayout {

    /** Bytes that were written since the ring began; the writer's. */
    static final int TAIL = 0;

    /** The position whose byte is the first one of the ring's memory; the writer's, changed when the ring is empty. */
    static final int START = 8;

    /** Bytes that were read since the ring began; the reader's. */
    static final int HEAD = 128;

    /** 1 while the reader wants a doorbell when there are bytes; cleared by the end that rings. */
    static final int READER_SLEEPS = 256;

    /** 1 while the writer wants a doorbell when there is room; cleared by the end that rings. */
    static final int WRITER_SLEEPS = 384;

    /** The control bytes of one ring. */
    static final int CONTROL_BYTES = 512;

    /** Bytes after which a position is published, so that writer and reader copy concurrently. */
    static final int PORTION_BYTES = 16 * 1024;

    private RingLayout() {}
}
