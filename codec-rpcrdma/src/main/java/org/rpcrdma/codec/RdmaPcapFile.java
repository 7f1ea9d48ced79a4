// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;

/**
 * A pcapng file with what connections send and receive, for {@link RpcRdmaConfig.Builder#capture}: Wireshark shows it
 * down to the RPC program. It is there for every device, also where the network cannot be tapped: each connection
 * appears as iWARP over TCP, whatever carries it.
 *
 * <p>Shown is what this side knows. Operations of its own are shown when they are posted, and their results when they
 * are done. The peer's RDMA Writes, and its Reads of memory here, are not told to a program: Writes are shown in front
 * of the reply that says how long they are, Reads behind the message that offers the memory. Congestion,
 * retransmissions and the true sizes of packets are not shown.
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
    private final FileChannel file;
    private boolean isGivenUp;

    private RdmaPcapFile(Path path, FileChannel file) {
        this.path = path;
        this.file = file;
    }

    /**
     * Begins a file; one that is there is overwritten.
     *
     * @param path of the file
     * @return the file, to be closed by the caller
     * @throws IOException when it cannot be written
     */
    public static RdmaPcapFile create(Path path) throws IOException {
        FileChannel file =
                FileChannel.open(
                        path,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE);
        RdmaPcapFile created = new RdmaPcapFile(path, file);
        ByteBuffer head = ByteBuffer.allocate(SECTION_BYTES + INTERFACE_BYTES);
        head.putInt(SECTION).putInt(SECTION_BYTES).putInt(BYTE_ORDER);
        head.putShort((short) 1).putShort((short) 0).putLong(-1).putInt(SECTION_BYTES);
        head.putInt(INTERFACE).putInt(INTERFACE_BYTES).putShort(RAW_IP).putShort((short) 0);
        head.putInt(0).putInt(INTERFACE_BYTES);
        try {
            created.writeFully(head.flip());
        } catch (IOException e) {
            file.close();
            throw e;
        }
        return created;
    }

    /** Writes a packet that begins with the header of IP. */
    synchronized void packet(byte[] packet) {
        if (isGivenUp || !file.isOpen()) {
            return;
        }
        Instant now = Instant.now();
        long micros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
        int padded = (packet.length + 3) & ~3;
        ByteBuffer block = ByteBuffer.allocate(PACKET_BYTES + padded);
        block.putInt(PACKET).putInt(PACKET_BYTES + padded).putInt(0);
        block.putInt((int) (micros >>> 32)).putInt((int) micros);
        block.putInt(packet.length).putInt(packet.length).put(packet);
        block.position(PACKET_BYTES - 4 + padded).putInt(PACKET_BYTES + padded).flip();
        try {
            writeFully(block);
        } catch (IOException e) {
            isGivenUp = true;
            LOGGER.warn("{} cannot be written; nothing more is captured", path, e);
        }
    }

    private void writeFully(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    /** Ends the file. Connections go on, and are not captured any more. */
    @Override
    public synchronized void close() throws IOException {
        file.close();
    }

    @Override
    public String toString() {
        return "RdmaPcapFile(" + path + ')';
    }
}
