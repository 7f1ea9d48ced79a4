// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * A file that both ends have mapped: a ring for each direction, and behind them a header that says whose it is. For one
 * thread. The memory lives until both ends have closed it, its name at most until the second one has mapped it.
 */
public final class SharedRingFile implements AutoCloseable {

    /** How a file becomes memory. */
    interface Mapper {
        /**
         * Maps a whole file, which has all of its pages.
         *
         * @param mark is to be found, big-endian, at {@code markAt} when all of the memory is there
         */
        TruncationCheckedMappedMemory map(FileChannel file, long bytes, int markAt, long mark)
                throws IOException;
    }

    /** Bytes of the header and of what rings are controlled by. They are the last page: no page goes before it. */
    static final int HEADER_BYTES = 4096;

    static final long MAGIC = 0xd372_7063_7368_6d0aL;
    static final int VERSION = 2;
    static final int VERSION_AT = 8;
    static final int INITIATOR_AT = 16;
    static final int RESPONDER_AT = 32;

    /** The ring that the initiator writes. */
    static final int FIRST_CONTROL = 1024;

    /** The ring that the responder writes. */
    static final int SECOND_CONTROL = FIRST_CONTROL + RingLayout.CONTROL_BYTES;

    static final Mapper MAPPER =
            (file, bytes, markAt, mark) ->
                    new TruncationCheckedMappedMemory(FileMapping.of(file, bytes), markAt, mark);

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SharedRingFile.class);

    /** Initial content of a file. */
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(64 * 1024).asReadOnlyBuffer();

    private final Path path;
    private final TruncationCheckedMappedMemory memory;
    private final int header;
    private final RingReader reader;
    private final RingWriter writer;
    private boolean named = true;
    private boolean closed;

    private SharedRingFile(
            Path path, TruncationCheckedMappedMemory memory, int ringBytes, boolean isInitiator) {
        this.path = path;
        this.memory = memory;
        this.header = headerAt(ringBytes);
        int own = header + (isInitiator ? FIRST_CONTROL : SECOND_CONTROL);
        int peers = header + (isInitiator ? SECOND_CONTROL : FIRST_CONTROL);
        writer = new RingWriter(memory, own, isInitiator ? 0 : ringBytes, ringBytes);
        reader = new RingReader(memory, peers, isInitiator ? ringBytes : 0, ringBytes);
    }

    /** Offset of the header in a file with rings of that size. */
    static int headerAt(int ringBytes) {
        return 2 * ringBytes;
    }

    /** The bytes of such a file. */
    static long size(int ringBytes) {
        return headerAt(ringBytes) + (long) HEADER_BYTES;
    }

    /**
     * Fills a new file, which is empty.
     *
     * @throws IOException when there is no space for the whole file, which is allocated in advance
     */
    static SharedRingFile create(
            Path path, FileChannel file, Mapper mapper, int ringBytes, UUID nonce)
            throws IOException {
        long size = size(ringBytes);
        for (long at = 0; at < size; ) {
            ByteBuffer zeros = ZEROS.duplicate();
            zeros.limit((int) Math.min(zeros.capacity(), size - at));
            at += file.write(zeros, at);
        }
        TruncationCheckedMappedMemory memory = map(mapper, file, ringBytes, nonce);
        try {
            int header = headerAt(ringBytes);
            memory.header(header, MAGIC);
            memory.header(header + VERSION_AT, versionAndSize(ringBytes));
            putUuid(memory, header + INITIATOR_AT, nonce);
            memory.verify();
            return new SharedRingFile(path, memory, ringBytes, true);
        } catch (InternalError e) {
            memory.close();
            throw memory.lost(e);
        } catch (IOException e) {
            memory.close();
            throw e;
        }
    }

    /**
     * Maps a file of another end, and puts this end's nonce into it.
     *
     * @throws IOException when the file does not match the announcement
     */
    static SharedRingFile join(
            Path path,
            FileChannel file,
            Mapper mapper,
            int ringBytes,
            UUID initiators,
            UUID responders)
            throws IOException {
        TruncationCheckedMappedMemory memory = map(mapper, file, ringBytes, initiators);
        try {
            int header = headerAt(ringBytes);
            if (memory.header(header) != MAGIC
                    || memory.header(header + VERSION_AT) != versionAndSize(ringBytes)
                    || !uuid(memory, header + INITIATOR_AT).equals(initiators)) {
                throw new IOException(
                        "its header does not agree with what was announced",
                        TruncationCheckedMappedMemory.pendingFault());
            }
            putUuid(memory, header + RESPONDER_AT, responders);
            memory.verify();
            return new SharedRingFile(path, memory, ringBytes, false);
        } catch (InternalError e) {
            memory.close();
            throw memory.lost(e);
        } catch (IOException e) {
            memory.close();
            throw e;
        }
    }

    /** The mark is the first half of the initiator's nonce: random, and known to both ends. */
    private static TruncationCheckedMappedMemory map(
            Mapper mapper, FileChannel file, int ringBytes, UUID nonce) throws IOException {
        return mapper.map(
                file,
                size(ringBytes),
                headerAt(ringBytes) + INITIATOR_AT,
                nonce.getMostSignificantBits());
    }

    private static long versionAndSize(int ringBytes) {
        return (long) VERSION << 32 | ringBytes;
    }

    private static void putUuid(TruncationCheckedMappedMemory to, int at, UUID uuid) {
        to.header(at, uuid.getMostSignificantBits());
        to.header(at + Long.BYTES, uuid.getLeastSignificantBits());
    }

    private static UUID uuid(TruncationCheckedMappedMemory from, int at) {
        return new UUID(from.header(at), from.header(at + Long.BYTES));
    }

    /**
     * The nonce written by the responder.
     *
     * @throws LostMemoryException when the file cannot be reached any more
     */
    public UUID respondersNonce() throws LostMemoryException {
        try {
            UUID nonce = uuid(memory, header + RESPONDER_AT);
            memory.verify();
            return nonce;
        } catch (InternalError e) {
            throw memory.lost(e);
        }
    }

    /** Ring written by the peer. */
    public RingReader reader() {
        return reader;
    }

    /** Ring read by the peer. */
    public RingWriter writer() {
        return writer;
    }

    /** Unlinks the file; the mapping stays. */
    public void unlink() {
        if (named) {
            named = false;
            try {
                Files.deleteIfExists(path);
            } catch (IOException | RuntimeException e) {
                LOGGER.debug("Deleting {} failed", path, e);
            }
        }
    }

    /** Gives the memory back; its rings refuse to be used from now on. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        unlink();
        memory.close();
    }
}
