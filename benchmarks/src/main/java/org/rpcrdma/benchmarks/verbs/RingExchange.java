// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;

/**
 * Two rings in a mapped file: what memory itself can do between two threads that never block. A message is copied into
 * the ring and out of it, as one does whose buffers stay one's own; nothing is checked.
 */
final class RingExchange implements Exchange {

    private static final VarHandle INTS =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    /** Of a slot: how many messages it has had, and how long this one is. */
    private static final int HEAD = 64;

    private static final int LENGTH = 4;
    private static final int REQUEST = 28;

    /** After so many looks, whoever shares the CPU may be the one that is waited for. */
    private static final int LOOKS = 100_000;

    private final int bytes;
    private final int slots;
    private final Ring there;
    private final Ring back;
    private final ByteBuffer out;
    private final ByteBuffer in;
    private final Thread thread;
    private volatile boolean ended;

    /** Whether the other end answers a request by a whole message. */
    private volatile boolean areReads;

    RingExchange(int bytes, int slots) throws IOException {
        this.bytes = bytes;
        this.slots = slots;
        int ring = slots * (HEAD + Math.max(bytes, HEAD));
        ByteBuffer memory = map(2 * ring);
        there = new Ring(memory.slice(0, ring));
        back = new Ring(memory.slice(ring, ring));
        out = ByteBuffer.allocateDirect(bytes);
        in = ByteBuffer.allocateDirect(bytes);
        thread = new Thread(this::echo, "echo");
        thread.setDaemon(true);
        thread.start();
    }

    /** In memory, where the system has such a directory. */
    private static ByteBuffer map(int length) throws IOException {
        Path shared = Path.of("/dev/shm");
        Path file =
                Files.isWritable(shared)
                        ? Files.createTempFile(shared, "ring", null)
                        : Files.createTempFile("ring", null);
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, length);
        } finally {
            Files.delete(file);
        }
    }

    /** One direction; {@code put} is for one thread, {@code take} for another one. */
    private final class Ring {
        private final ByteBuffer memory;
        private final int slot;
        private int put;
        private int taken;

        Ring(ByteBuffer memory) {
            this.memory = memory.order(ByteOrder.nativeOrder());
            slot = memory.capacity() / slots;
        }

        void put(ByteBuffer from, int length) {
            int at = put % slots * slot;
            memory.put(at + HEAD, from, 0, length);
            memory.putInt(at + LENGTH, length);
            INTS.setRelease(memory, at, ++put);
        }

        boolean isEmpty() {
            return (int) INTS.getAcquire(memory, taken % slots * slot) != taken + 1;
        }

        int take(ByteBuffer to) {
            int at = taken++ % slots * slot;
            int length = memory.getInt(at + LENGTH);
            to.put(0, memory, at + HEAD, length);
            return length;
        }
    }

    private void echo() {
        ByteBuffer received = ByteBuffer.allocateDirect(Math.max(bytes, REQUEST));
        int looks = 0;
        while (!ended) {
            if (there.isEmpty()) {
                looks = look(looks);
            } else {
                looks = 0;
                int length = there.take(received);
                back.put(received, areReads ? bytes : length);
            }
        }
    }

    private static int look(int looks) {
        if (looks < LOOKS) {
            Thread.onSpinWait();
            return looks + 1;
        }
        LockSupport.parkNanos(1);
        return 0;
    }

    @Override
    public void sends(int count, int window) {
        run(count, window, bytes, false);
    }

    @Override
    public void writes(int count, int window) {
        run(count, window, bytes, false);
    }

    @Override
    public void reads(int count, int window) {
        run(count, window, Math.min(bytes, REQUEST), true);
    }

    private void run(int count, int window, int length, boolean isRead) {
        areReads = isRead;
        int sent = 0;
        int looks = 0;
        for (int arrived = 0; arrived < count; ) {
            for (; sent < count && sent - arrived < Math.min(window, slots); sent++) {
                there.put(out, length);
            }
            if (back.isEmpty()) {
                looks = look(looks);
            } else {
                looks = 0;
                back.take(in);
                arrived++;
            }
        }
    }

    @Override
    public void close() throws InterruptedException {
        ended = true;
        thread.join();
    }
}
