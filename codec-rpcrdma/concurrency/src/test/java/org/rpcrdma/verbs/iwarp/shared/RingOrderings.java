// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A ring in shared memory whose ends run at the same time, many times over: {@code RingOrderTest} runs it. What each
 * of them finds depends on the compiler and the processor; see there.
 */
public class RingOrderings {

    private static final int CAPACITY = 2 * RingWriter.RESTART_BYTES;
    private static final int SLOT_BYTES = RingLayout.CONTROL_BYTES + CAPACITY;

    /** More rings than one round of jcstress has states, so that none is used twice at a time. */
    private static final int SLOTS = 4096;

    private static final int MARK_BYTES = 64;
    private static final ByteBuffer MEMORY =
            ByteBuffer.allocateDirect(MARK_BYTES + SLOTS * SLOT_BYTES);
    private static final AtomicInteger NEXT = new AtomicInteger();

    /** One for each end: each belongs to a thread, but while rings are made, by several. */
    private static final TruncationCheckedMappedMemory WRITERS =
            new TruncationCheckedMappedMemory(MEMORY, 0, 0);

    private static final TruncationCheckedMappedMemory READERS =
            new TruncationCheckedMappedMemory(MEMORY.duplicate(), 0, 0);

    private static final int OLD = 0x0101_0101;
    private static final int NEW = 0x0202_0202;

    private static final ByteBuffer ALL_OLD = ByteBuffer.allocateDirect(CAPACITY);
    private static final ByteBuffer DRAINED = ByteBuffer.allocateDirect(CAPACITY);

    static {
        while (ALL_OLD.hasRemaining()) {
            ALL_OLD.putInt(OLD);
        }
    }

    private RingOrderings() {}

    /** A ring, and the buffers of its ends. */
    abstract static class Ring {
        final RingWriter writer;
        final RingReader reader;
        final ByteBuffer source = ByteBuffer.allocate(Integer.BYTES);
        final ByteBuffer target = ByteBuffer.allocate(Integer.BYTES);

        Ring() {
            int slot = (NEXT.getAndIncrement() & SLOTS - 1) * SLOT_BYTES + MARK_BYTES;
            for (int at = 0; at < RingLayout.CONTROL_BYTES; at += Long.BYTES) {
                MEMORY.putLong(slot + at, 0);
            }
            writer = new RingWriter(WRITERS, slot, slot + RingLayout.CONTROL_BYTES, CAPACITY);
            reader = new RingReader(READERS, slot, slot + RingLayout.CONTROL_BYTES, CAPACITY);
        }

        /** Fills the ring with the old value, as the writer. */
        final void fill(int bytes) {
            synchronized (ALL_OLD) {
                write(ALL_OLD.clear().limit(bytes));
            }
        }

        final void drain(int bytes) {
            synchronized (ALL_OLD) {
                read(DRAINED.clear().limit(bytes));
            }
        }

        final int write(int value) {
            source.clear();
            source.putInt(0, value);
            return write(source);
        }

        /** What was read, 0 for nothing, -1 for what was never written. */
        final int read() {
            target.clear();
            int bytes = read(target);
            if (bytes == 0) {
                return 0;
            }
            int value = target.getInt(0);
            return bytes == Integer.BYTES && value != 0 ? value : -1;
        }

        private int write(ByteBuffer bytes) {
            try {
                return writer.write(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private int read(ByteBuffer bytes) {
            try {
                return reader.read(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Whether the reader, which sleeps from now on, sees bytes. */
        final boolean sleepUnlessBytes() {
            try {
                reader.sleeps(true);
                return reader.hasBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Whether the writer, which sleeps from now on, sees room. */
        final boolean sleepUnlessRoom() {
            try {
                writer.sleeps(true);
                return writer.hasRoom();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Bytes are there before the position behind them. */
    @JCStressTest
    @Outcome(id = "4, 0", expect = Expect.ACCEPTABLE, desc = "not there yet")
    @Outcome(id = "4, " + OLD, expect = Expect.ACCEPTABLE, desc = "all there")
    @Outcome(expect = Expect.FORBIDDEN, desc = "bytes that were not written")
    @State
    public static class BytesBeforePosition extends Ring {

        @Actor
        public void write(II_Result r) {
            r.r1 = write(OLD);
        }

        @Actor
        public void read(II_Result r) {
            r.r2 = read();
        }
    }

    /** An empty ring that begins anew says so before the position that counts from there. */
    @JCStressTest
    @Outcome(id = "4, 0", expect = Expect.ACCEPTABLE, desc = "not there yet")
    @Outcome(id = "4, " + NEW, expect = Expect.ACCEPTABLE, desc = "all there")
    @Outcome(expect = Expect.FORBIDDEN, desc = "bytes of another place")
    @State
    public static class StartBeforePosition extends Ring {

        public StartBeforePosition() {
            fill(RingWriter.RESTART_BYTES);
            drain(RingWriter.RESTART_BYTES);
        }

        @Actor
        public void write(II_Result r) {
            r.r1 = write(NEW);
        }

        @Actor
        public void read(II_Result r) {
            r.r2 = read();
        }
    }

    /** Bytes are copied out before their place is given back. */
    @JCStressTest
    @Outcome(id = "0, " + OLD, expect = Expect.ACCEPTABLE, desc = "no room yet")
    @Outcome(id = "4, " + OLD, expect = Expect.ACCEPTABLE, desc = "the place was taken")
    @Outcome(expect = Expect.FORBIDDEN, desc = "bytes that were overwritten")
    @State
    public static class CopyBeforeRoom extends Ring {

        public CopyBeforeRoom() {
            fill(CAPACITY);
        }

        @Actor
        public void write(II_Result r) {
            r.r1 = write(NEW);
        }

        @Actor
        public void read(II_Result r) {
            r.r2 = read();
        }
    }

    /** A reader that goes to sleep sees the bytes, or the writer sees that it sleeps. */
    @JCStressTest
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both")
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "rung")
    @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "seen")
    @Outcome(expect = Expect.FORBIDDEN, desc = "it sleeps, and nobody rings")
    @State
    public static class BellForBytes extends Ring {

        @Actor
        public void write(II_Result r) {
            write(NEW);
            r.r1 = writer.owesBell() ? 1 : 0;
        }

        @Actor
        public void sleep(II_Result r) {
            r.r2 = sleepUnlessBytes() ? 1 : 0;
        }
    }

    /** The same of a writer without room. */
    @JCStressTest
    @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both")
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "rung")
    @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "seen")
    @Outcome(expect = Expect.FORBIDDEN, desc = "it sleeps, and nobody rings")
    @State
    public static class BellForRoom extends Ring {

        public BellForRoom() {
            fill(CAPACITY);
            drain(CAPACITY / 2 - Integer.BYTES);
        }

        @Actor
        public void read(II_Result r) {
            read();
            r.r1 = reader.owesBell() ? 1 : 0;
        }

        @Actor
        public void sleep(II_Result r) {
            r.r2 = sleepUnlessRoom() ? 1 : 0;
        }
    }
}
