// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;

/** Cuts the file of mapped memory short, really, right before a chosen access of this end to it. */
public final class CutFiles implements AutoCloseable {

    private final Path directory;
    private FileChannel file;
    private long length;
    private int left = -1;
    private Counted counted;

    /** @param directory nothing else is in it */
    public CutFiles(Path directory) {
        this.directory = directory;
    }

    /** Memory whose accesses are counted. */
    public SharedRingFileFactory memory() throws IOException {
        return new SharedRingFileFactory(directory, this::map);
    }

    /** A new file, as an initiator makes it. */
    SharedRingFile.Mapper mapper() {
        return this::map;
    }

    private TruncationCheckedMappedMemory map(FileChannel opened, long bytes, int markAt, long mark)
            throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            close();
            file = FileChannel.open(files.findAny().orElseThrow(), StandardOpenOption.WRITE);
        }
        ByteBuffer mapped = opened.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        Counted memory = new Counted(mapped, markAt, mark);
        counted = memory;
        return memory;
    }

    /** Has the next file that is mapped cut to a length before one of the accesses to it: the first one is 0. */
    public void cut(int access, long bytes) {
        counted = null;
        left = access;
        length = bytes;
    }

    /** Whether the file was cut. */
    public boolean isCut() {
        return left < 0;
    }

    private void access(Counted memory) {
        if (memory == counted && left >= 0 && left-- == 0) {
            try {
                file.truncate(length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (file != null) {
            file.close();
        }
    }

    private final class Counted extends TruncationCheckedMappedMemory {

        Counted(ByteBuffer bytes, int markAt, long mark) {
            super(bytes, markAt, mark);
        }

        @Override
        long acquire(int at) {
            access(this);
            return super.acquire(at);
        }

        @Override
        void release(int at, long value) {
            access(this);
            super.release(at, value);
        }

        @Override
        long opaque(int at) {
            access(this);
            return super.opaque(at);
        }

        @Override
        void opaque(int at, long value) {
            access(this);
            super.opaque(at, value);
        }

        @Override
        void announce(int flag, boolean isSet) {
            access(this);
            super.announce(flag, isSet);
        }

        @Override
        boolean isAnnounced(int flag) {
            access(this);
            return super.isAnnounced(flag);
        }

        @Override
        void withdraw(int flag) {
            access(this);
            super.withdraw(flag);
        }

        @Override
        void read(int at, ByteBuffer target, int to, int count) {
            access(this);
            super.read(at, target, to, count);
        }

        @Override
        void write(int at, ByteBuffer source, int from, int count) {
            access(this);
            super.write(at, source, from, count);
        }

        @Override
        long header(int at) {
            access(this);
            return super.header(at);
        }

        @Override
        void header(int at, long value) {
            access(this);
            super.header(at, value);
        }

        @Override
        void verify() throws LostMemoryException {
            access(this);
            super.verify();
        }
    }
}
