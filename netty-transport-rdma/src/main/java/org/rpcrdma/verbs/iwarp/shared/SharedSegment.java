// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * A file that is mapped: a header that says whose it is, and a ring for each direction. For one thread. The memory
 * lives until both ends have closed it, its name at most until the second one has mapped it.
 */
public final class SharedSegment implements AutoCloseable {

    /** Bytes of the header and of what rings are controlled by; the rings follow. */
    static final int HEADER_BYTES = 4096;

    static final long MAGIC = 0xd372_7063_7368_6d0aL;
    static final int VERSION = 1;
    static final int VERSION_AT = 8;
    static final int RING_BYTES_AT = 12;
    static final int INITIATOR_AT = 16;
    static final int RESPONDER_AT = 32;

    /** The ring that the initiator writes. */
    static final int FIRST_CONTROL = 1024;

    /** The ring that the responder writes. */
    static final int SECOND_CONTROL = FIRST_CONTROL + RingLayout.CONTROL_BYTES;

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SharedSegment.class);

    private final Path path;
    private final ByteBuffer memory;
    private final RingReader reader;
    private final RingWriter writer;
    private boolean named = true;
    private boolean closed;

    private SharedSegment(Path path, ByteBuffer memory, int ringBytes, boolean isInitiator) {
        this.path = path;
        this.memory = memory;
        int own = isInitiator ? FIRST_CONTROL : SECOND_CONTROL;
        int peers = isInitiator ? SECOND_CONTROL : FIRST_CONTROL;
        int first = HEADER_BYTES;
        int second = HEADER_BYTES + ringBytes;
        writer = new RingWriter(memory, own, isInitiator ? first : second, ringBytes);
        reader = new RingReader(memory, peers, isInitiator ? second : first, ringBytes);
    }

    /** The bytes of a file whose rings have so many each. */
    static long size(int ringBytes) {
        return HEADER_BYTES + 2L * ringBytes;
    }

    /** Fills a new file, which is empty. */
    static SharedSegment create(Path path, FileChannel file, int ringBytes, UUID nonce)
            throws IOException {
        ByteBuffer memory = file.map(FileChannel.MapMode.READ_WRITE, 0, size(ringBytes));
        try {
            memory.putLong(0, MAGIC).putInt(VERSION_AT, VERSION).putInt(RING_BYTES_AT, ringBytes);
            putUuid(memory, INITIATOR_AT, nonce);
            return new SharedSegment(path, memory, ringBytes, true);
        } catch (InternalError e) {
            throw unreachable(memory, e);
        }
    }

    /**
     * Maps a file of another end, and puts this end's nonce into it.
     *
     * @throws IOException when it is not what was announced
     */
    static SharedSegment join(
            Path path, FileChannel file, int ringBytes, UUID initiators, UUID responders)
            throws IOException {
        ByteBuffer memory = file.map(FileChannel.MapMode.READ_WRITE, 0, size(ringBytes));
        try {
            if (memory.getLong(0) != MAGIC
                    || memory.getInt(VERSION_AT) != VERSION
                    || memory.getInt(RING_BYTES_AT) != ringBytes
                    || !uuid(memory, INITIATOR_AT).equals(initiators)) {
                PlatformDependent.freeDirectBuffer(memory);
                throw new IOException("its header does not agree with what was announced");
            }
            putUuid(memory, RESPONDER_AT, responders);
            return new SharedSegment(path, memory, ringBytes, false);
        } catch (InternalError e) {
            throw unreachable(memory, e);
        }
    }

    /** The JVM's word for a page that the file does not have any more, or the machine has none for. */
    private static IOException unreachable(ByteBuffer memory, InternalError e) {
        PlatformDependent.freeDirectBuffer(memory);
        return new IOException("it cannot be reached: " + e.getMessage(), e);
    }

    private static void putUuid(ByteBuffer to, int at, UUID uuid) {
        to.putLong(at, uuid.getMostSignificantBits());
        to.putLong(at + Long.BYTES, uuid.getLeastSignificantBits());
    }

    private static UUID uuid(ByteBuffer from, int at) {
        return new UUID(from.getLong(at), from.getLong(at + Long.BYTES));
    }

    /** What the responder has put into the file, {@code null} when the file cannot be reached any more. */
    public UUID respondersNonce() {
        try {
            return closed ? null : uuid(memory, RESPONDER_AT);
        } catch (InternalError e) {
            LOGGER.debug("{} cannot be reached", path, e);
            return null;
        }
    }

    /** What the peer writes. */
    public RingReader reader() {
        return reader;
    }

    /** What the peer reads. */
    public RingWriter writer() {
        return writer;
    }

    /** Takes the file's name away; what is mapped stays. */
    public void unlink() {
        if (named) {
            named = false;
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                LOGGER.debug("Deleting {} failed", path, e);
            }
        }
    }

    /** Unmaps the memory, at once where {@code sun.misc.Unsafe} is there; its rings refuse to be used from now on. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        unlink();
        reader.release();
        writer.release();
        PlatformDependent.freeDirectBuffer(memory);
    }
}
