// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import static io.netty.util.internal.ObjectUtil.checkInRange;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Objects;
import org.rpcrdma.codec.RpcRdmaConfig;

/**
 * A pcapng file with what connections send and receive, for {@link RpcRdmaConfig.Builder#capture}: Wireshark shows it
 * down to the RPC program. It is there for every device, also where the network cannot be tapped: each connection
 * appears as iWARP over TCP, whatever carries it.
 *
 * <p>Channels without the codec are captured by a {@code RdmaCaptureHandler}. A stream appears as a TCP connection with
 * its bytes, so that Wireshark shows HTTP, TLS or whatever it carries; the messages and credits of its protocol are not
 * shown.
 *
 * <p>Shown is what this side knows. Operations of its own are shown when they are posted, and their results when they
 * are done. The peer's RDMA Writes, and its Reads of memory here, are not told to a program: Writes are shown in front
 * of the reply that says how long they are, Reads behind the message that offers the memory. Congestion,
 * retransmissions and the true sizes of packets are not shown.
 *
 * <p>A file has a bound. When it is full it is renamed, {@code FILE} to {@code FILE.1}, that one to {@code FILE.2} and
 * so on, as many as are wanted, and {@code FILE} begins anew: it shows the start-up of each connection again, so that
 * each file can be read alone. The oldest is overwritten.
 *
 * <p>Each packet is written by a system call on the event loop, which costs far more than the packet itself: this
 * is for finding faults. A file that cannot be written is given up, with a line in the log, and costs no
 * connection. Thread-safe.
 */
public final class RdmaPcapFile implements AutoCloseable {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RdmaPcapFile.class);

    private static final int SECTION = 0x0A0D0D0A;
    private static final int BYTE_ORDER = 0x1A2B3C4D;
    private static final int INTERFACE = 1;
    private static final int PACKET = 6;

    /** Packets begin with the header of IP, whichever version. */
    private static final short RAW_IP = 101;

    private static final int SECTION_BYTES = 28;
    private static final int INTERFACE_BYTES = 20;
    private static final int PACKET_BYTES = 32;

    private final Path path;
    private final long maxBytes;
    private final int files;
    private final int snapLength;
    private FileChannel file;
    private long bytes;
    private int number;
    private boolean isOver;

    private RdmaPcapFile(Builder builder) throws IOException {
        path = builder.path;
        maxBytes = builder.maxBytes;
        files = builder.files;
        snapLength = builder.snapLength;
        begin();
    }

    /**
     * Begins a file with the usual bounds: one that is there is overwritten.
     *
     * @param path of the file
     * @return the file, to be closed by the caller
     * @throws IOException when it cannot be written
     */
    public static RdmaPcapFile create(Path path) throws IOException {
        return builder(path).create();
    }

    /**
     * {@return a builder with the usual bounds: four files of 256 MiB, with whole packets}
     *
     * @param path of the file
     */
    public static Builder builder(Path path) {
        return new Builder(path);
    }

    /** Collects bounds. Each setter refuses a value out of range with an {@link IllegalArgumentException}. */
    public static final class Builder {

        private static final long LEAST_BYTES = 1 << 20;
        private static final int MOST_FILES = 10_000;
        private static final int LEAST_SNAP_LENGTH = 64;

        private final Path path;
        private long maxBytes = 256L << 20;
        private int files = 4;
        private int snapLength = Integer.MAX_VALUE;

        private Builder(Path path) {
            this.path = Objects.requireNonNull(path, "path");
        }

        /**
         * Sets when a file is full; 256 MiB by default.
         *
         * @param count bytes, from 2^20
         * @return this builder
         */
        public Builder maxBytes(long count) {
            maxBytes = checkInRange(count, LEAST_BYTES, Long.MAX_VALUE, "maxBytes");
            return this;
        }

        /**
         * Sets how many files are kept, the one that is being written included; 4 by default. With one, nothing more is
         * captured when it is full: what was first is kept. With more, what was last is.
         *
         * @param count 1 to 10,000
         * @return this builder
         */
        public Builder files(int count) {
            files = checkInRange(count, 1, MOST_FILES, "files");
            return this;
        }

        /**
         * Sets how much is kept of each packet; all of it by default. Headers of iWARP, RPC-over-RDMA and RPC take some
         * 300 bytes; behind them are data, which may be nobody's business.
         *
         * @param count bytes from the header of IP on, from 64
         * @return this builder
         */
        public Builder snapLength(int count) {
            snapLength = checkInRange(count, LEAST_SNAP_LENGTH, Integer.MAX_VALUE, "snapLength");
            return this;
        }

        /**
         * Begins the file; one that is there is overwritten.
         *
         * @return the file, to be closed by the caller
         * @throws IOException when it cannot be written
         */
        public RdmaPcapFile create() throws IOException {
            return new RdmaPcapFile(this);
        }
    }

    private void begin() throws IOException {
        file =
                FileChannel.open(
                        path,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE);
        bytes = 0;
        ByteBuffer head = ByteBuffer.allocate(SECTION_BYTES + INTERFACE_BYTES);
        head.putInt(SECTION).putInt(SECTION_BYTES).putInt(BYTE_ORDER);
        head.putShort((short) 1).putShort((short) 0).putLong(-1).putInt(SECTION_BYTES);
        head.putInt(INTERFACE).putInt(INTERFACE_BYTES).putShort(RAW_IP).putShort((short) 0);
        head.putInt(snapLength == Integer.MAX_VALUE ? 0 : snapLength).putInt(INTERFACE_BYTES);
        try {
            writeFully(head.flip());
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    /**
     * Makes room for a packet, in a new file if there is none in this one. Who has to write several packets together
     * holds the monitor of this object.
     *
     * @param length bytes of the packet
     */
    synchronized void makeRoom(int length) {
        if (isOver || bytes + blockBytes(length) <= maxBytes) {
            return;
        }
        if (files == 1) {
            LOGGER.warn(
                    "{} has {} bytes, the most that it may; nothing more is captured", path, bytes);
            isOver = true;
            return;
        }
        try {
            file.close();
            for (int i = files - 1; i > 0; i--) {
                Path older = i == 1 ? path : numbered(i - 1);
                if (Files.exists(older)) {
                    Files.move(older, numbered(i), StandardCopyOption.REPLACE_EXISTING);
                }
            }
            begin();
            number++;
        } catch (IOException e) {
            giveUp(e);
        }
    }

    private Path numbered(int i) {
        return path.resolveSibling(path.getFileName() + "." + i);
    }

    /** The number of the file that is being written: another one whenever it begins anew. */
    synchronized int number() {
        return number;
    }

    private int blockBytes(int length) {
        return PACKET_BYTES + ((Math.min(length, snapLength) + 3) & ~3);
    }

    /** Writes a packet that begins with the header of IP, when there is {@linkplain #makeRoom room}. */
    synchronized void packet(byte[] packet) {
        if (isOver) {
            return;
        }
        Instant now = Instant.now();
        long micros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
        int captured = Math.min(packet.length, snapLength);
        int length = blockBytes(packet.length);
        ByteBuffer block = ByteBuffer.allocate(length);
        block.putInt(PACKET).putInt(length).putInt(0);
        block.putInt((int) (micros >>> 32)).putInt((int) micros);
        block.putInt(captured).putInt(packet.length).put(packet, 0, captured);
        block.position(length - 4).putInt(length).flip();
        try {
            writeFully(block);
        } catch (IOException e) {
            giveUp(e);
        }
    }

    private void giveUp(IOException why) {
        isOver = true;
        LOGGER.warn("{} cannot be written; nothing more is captured", path, why);
    }

    private void writeFully(ByteBuffer block) throws IOException {
        while (block.hasRemaining()) {
            bytes += file.write(block);
        }
    }

    /** Ends the file. Connections go on, and are not captured any more. */
    @Override
    public synchronized void close() throws IOException {
        isOver = true;
        file.close();
    }

    @Override
    public String toString() {
        return "RdmaPcapFile(" + path + ')';
    }
}
