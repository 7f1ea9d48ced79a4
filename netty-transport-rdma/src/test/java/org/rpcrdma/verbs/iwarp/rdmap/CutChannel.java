// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.util.function.IntSupplier;

/** A stream that gives and takes as many bytes at a time as it is told to. */
final class CutChannel implements ScatteringByteChannel, GatheringByteChannel {

    private final ByteBuffer source;
    private final IntSupplier cuts;
    private final ByteArrayOutputStream sink = new ByteArrayOutputStream();

    /** @param cuts the most bytes of the next call, again and again */
    CutChannel(byte[] source, IntSupplier cuts) {
        this.source = ByteBuffer.wrap(source);
        this.cuts = cuts;
    }

    byte[] written() {
        return sink.toByteArray();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        if (!source.hasRemaining()) {
            return -1;
        }
        int left = cuts.getAsInt();
        long read = 0;
        for (int i = offset; i < offset + length; i++) {
            int bytes = Math.min(left, Math.min(source.remaining(), targets[i].remaining()));
            targets[i].put(source.slice().limit(bytes));
            source.position(source.position() + bytes);
            left -= bytes;
            read += bytes;
        }
        return read;
    }

    @Override
    public long read(ByteBuffer[] targets) {
        return read(targets, 0, targets.length);
    }

    @Override
    public int read(ByteBuffer target) {
        return (int) read(new ByteBuffer[] {target}, 0, 1);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        int left = cuts.getAsInt();
        long written = 0;
        for (int i = offset; i < offset + length; i++) {
            for (; left > 0 && sources[i].hasRemaining(); left--) {
                sink.write(sources[i].get());
                written++;
            }
        }
        return written;
    }

    @Override
    public long write(ByteBuffer[] sources) {
        return write(sources, 0, sources.length);
    }

    @Override
    public int write(ByteBuffer from) {
        return (int) write(new ByteBuffer[] {from}, 0, 1);
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public void close() {}
}
