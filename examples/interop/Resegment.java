// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/**
 * Rewrites a capture of MPA connections so that each MPA frame has a TCP segment of its own, without retransmissions.
 *
 * <p>Wireshark 4.0 loses its place in a stream when FPDUs are split over 64 KiB segments of the loopback in certain
 * ways, and takes file data for headers from there on. Here frames are found as RFC 5044 says, by their lengths alone;
 * what is inside of them is left to Wireshark.
 *
 * <p>Usage: {@code java Resegment.java IN.pcap OUT.pcap}, both in the classic format, of an Ethernet-like device, IPv4;
 * what is neither IPv4 nor TCP is left out. Prints for each direction of each connection: source port, destination
 * port, frames, bytes, bytes that are left over because no whole frame came; FPDUs with a wrong CRC (one of 0 is none);
 * segments that end inside of a frame; of these, where soft-iWARP of Linux 6.1 loses its place: behind byte 17 to 19 of
 * an untagged FPDU, or between the first byte of pad and CRC and the last; of the wrong CRCs, those that are right for
 * an FPDU whose last bytes are counted twice; the IPv4 address of the sender; its segments with RST.
 */
final class Resegment {

    private static final int LINK_HEADER = 14;
    private static final int IP_HEADER = 20;
    private static final int TCP_HEADER = 20;
    private static final int SYN = 0x02;
    private static final int RST = 0x04;
    private static final int ENDS = 0x01 | RST; // FIN is 1
    private static final int LONGEST_SEGMENT = 60_000;
    private static final int STARTUP_HEADER = 20;
    private static final int IPV4 = 0x0800;
    private static final int TCP = 6;
    private static final int TAGGED = 0x80;
    private static final int TAGGED_HEADER = 16;
    private static final int UNTAGGED_HEADER = 20;
    private static final int SOURCE = LINK_HEADER + 12;

    private final Map<Long, Direction> directions = new HashMap<>();
    private final DataOutputStream out;

    private Resegment(DataOutputStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        try (DataInputStream in = open(Path.of(args[0]));
                DataOutputStream out =
                        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(args[1]))))) {
            Resegment resegment = new Resegment(out);
            resegment.run(in);
            resegment.directions.values().forEach(Direction::report);
        }
    }

    private static DataInputStream open(Path path) throws IOException {
        return new DataInputStream(new BufferedInputStream(Files.newInputStream(path), 1 << 20));
    }

    private void run(DataInputStream in) throws IOException {
        byte[] header = in.readNBytes(24);
        ByteOrder order = header[0] == (byte) 0xa1 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        out.write(header);
        while (true) {
            byte[] record = in.readNBytes(16);
            if (record.length < 16) {
                return;
            }
            int length = ByteBuffer.wrap(record).order(order).getInt(8);
            byte[] packet = in.readNBytes(length);
            if (packet.length < length) {
                throw new EOFException("the capture ends in a packet");
            }
            packet(record, order, packet);
        }
    }

    private void packet(byte[] record, ByteOrder order, byte[] packet) throws IOException {
        ByteBuffer p = ByteBuffer.wrap(packet);
        if (packet.length < LINK_HEADER + IP_HEADER || p.getShort(12) != IPV4 || p.get(LINK_HEADER + 9) != TCP) {
            return;
        }
        // A short Ethernet frame is padded.
        packet = Arrays.copyOf(packet, Math.min(packet.length, LINK_HEADER + (p.getShort(LINK_HEADER + 2) & 0xffff)));
        int tcp = LINK_HEADER + (p.get(LINK_HEADER) & 0xf) * 4;
        int payload = tcp + ((p.get(tcp + 12) >> 4) & 0xf) * 4;
        int flags = p.get(tcp + 13);
        long key = p.getInt(tcp) & 0xffffffffL;
        if ((flags & SYN) != 0) {
            Direction old = directions.put(key, new Direction(key, p.getInt(tcp + 4) + 1, p.getInt(SOURCE)));
            if (old != null) {
                old.report();
            }
            write(record, order, packet);
            return;
        }
        Direction direction = directions.get(key);
        if (direction == null && payload == packet.length) {
            return; // a connection was refused
        }
        if (direction == null) {
            throw new IOException("the capture has no start of the connection from port " + (key >>> 16));
        }
        direction.append(p.getInt(tcp + 4), Arrays.copyOfRange(packet, payload, packet.length));
        boolean grows = payload < packet.length;
        byte[] headers = Arrays.copyOf(packet, LINK_HEADER + IP_HEADER + TCP_HEADER);
        for (byte[] frame = direction.next(); frame != null; frame = direction.next()) {
            for (int from = 0; from < frame.length; from += LONGEST_SEGMENT) {
                byte[] piece = Arrays.copyOfRange(frame, from, Math.min(frame.length, from + LONGEST_SEGMENT));
                write(record, order, segment(headers, key, direction, piece));
                direction.written += piece.length;
            }
        }
        if (grows) {
            direction.segmentEnds();
        }
        if ((flags & RST) != 0) {
            direction.resets++;
        }
        if ((flags & ENDS) != 0) {
            write(record, order, Arrays.copyOf(packet, payload));
        }
    }

    /** A TCP segment with valid headers but for the checksums, which Wireshark does not verify. */
    private byte[] segment(byte[] headers, long key, Direction from, byte[] data) {
        Direction to = directions.get((key & 0xffff) << 16 | key >>> 16);
        ByteBuffer p = ByteBuffer.allocate(headers.length + data.length).put(headers, 0, LINK_HEADER + IP_HEADER);
        p.put(LINK_HEADER, (byte) 0x45);
        p.putShort(LINK_HEADER + 2, (short) (IP_HEADER + TCP_HEADER + data.length));
        p.putInt((int) key).putInt(from.first + (int) from.written);
        p.putInt(to == null ? 0 : to.first + (int) to.written);
        p.putShort((short) 0x5018).putShort((short) 0xffff).putInt(0);
        return p.put(data).array();
    }

    private void write(byte[] record, ByteOrder order, byte[] packet) throws IOException {
        byte[] changed = record.clone();
        ByteBuffer.wrap(changed).order(order).putInt(8, packet.length).putInt(12, packet.length);
        out.write(changed);
        out.write(packet);
    }

    /** One direction of one connection: puts the bytes in order and cuts them into MPA frames. */
    private static final class Direction {
        private final long key;
        private final int first;
        private final int source;
        private final TreeMap<Long, byte[]> early = new TreeMap<>();
        private byte[] bytes = new byte[1 << 17];
        private int start;
        private int end;
        private long received;
        private long written;
        private long frames;
        private long wrongCrcs;
        private long countedTwice;
        private long cuts;
        private long riskyCuts;
        private long resets;

        Direction(long key, int first, int source) {
            this.key = key;
            this.first = first;
            this.source = source;
        }

        void append(int sequence, byte[] data) {
            long offset = received + (sequence - (first + (int) received));
            if (data.length > 0) {
                early.merge(offset, data, (a, b) -> a.length >= b.length ? a : b);
            }
            while (!early.isEmpty() && early.firstKey() <= received) {
                Map.Entry<Long, byte[]> entry = early.pollFirstEntry();
                int known = (int) Math.min(entry.getValue().length, received - entry.getKey());
                add(entry.getValue(), known);
            }
        }

        private void add(byte[] data, int from) {
            int length = data.length - from;
            if (bytes.length - end < length) {
                byte[] larger = new byte[Math.max(bytes.length, (end - start + length) * 2)];
                System.arraycopy(bytes, start, larger, 0, end - start);
                bytes = larger;
                end -= start;
                start = 0;
            }
            System.arraycopy(data, from, bytes, end, length);
            end += length;
            received += length;
        }

        /** The next whole frame, or null: the start-up frame first (RFC 5044, 7.1), then FPDUs (4.1). */
        byte[] next() {
            int length;
            if (frames == 0) {
                if (end - start < STARTUP_HEADER) {
                    return null;
                }
                length = STARTUP_HEADER + unsignedShort(start + STARTUP_HEADER - 2);
            } else {
                if (end - start < 2) {
                    return null;
                }
                int framed = 2 + unsignedShort(start);
                length = framed + (-framed & 3) + 4;
            }
            if (end - start < length) {
                return null;
            }
            if (frames > 0 && !hasRightCrc(start, length - 4)) {
                wrongCrcs++;
                countedTwice += isCountedTwice(start, length - 4) ? 1 : 0;
            }
            start += length;
            frames++;
            return Arrays.copyOfRange(bytes, start - length, start);
        }

        /** RFC 5044, 4.4: over all of the FPDU before it, the least significant byte first. */
        private boolean hasRightCrc(int at, int covered) {
            CRC32C crc = new CRC32C();
            crc.update(bytes, at, covered);
            return sentCrc(at, covered) == 0 || sentCrc(at, covered) == (int) crc.getValue();
        }

        private int sentCrc(int at, int covered) {
            return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(at + covered);
        }

        /**
         * Whether the CRC is right for the FPDU with a part of its payload, up to the last byte, once more behind it:
         * what soft-iWARP of Linux 6.1 sends when two of its threads send on one connection. By chance it is so for
         * one wrong CRC in three million.
         */
        private boolean isCountedTwice(int at, int covered) {
            int header = (bytes[at + 2] & TAGGED) == 0 ? UNTAGGED_HEADER : TAGGED_HEADER;
            for (int from = header; from < covered; from++) {
                CRC32C crc = new CRC32C();
                crc.update(bytes, at, covered);
                crc.update(bytes, at + from, covered - from);
                if (sentCrc(at, covered) == (int) crc.getValue()) {
                    return true;
                }
            }
            return false;
        }

        void segmentEnds() {
            int part = end - start;
            if (part == 0 || frames == 0) {
                return;
            }
            cuts++;
            if (part < 3) {
                return;
            }
            int framed = 2 + unsignedShort(start);
            boolean isUntagged = (bytes[start + 2] & TAGGED) == 0;
            if ((isUntagged && part >= 17 && part <= 19) || part > framed) {
                riskyCuts++;
            }
        }

        private int unsignedShort(int at) {
            return (bytes[at] & 0xff) << 8 | bytes[at + 1] & 0xff;
        }

        private String address() {
            return (source >>> 24) + "." + (source >> 16 & 0xff) + "." + (source >> 8 & 0xff) + "." + (source & 0xff);
        }

        void report() {
            System.out.println(
                    (key >>> 16) + " " + (key & 0xffff) + " " + frames + " " + written + " "
                            + (received - written) + " " + wrongCrcs + " " + cuts + " " + riskyCuts + " "
                            + countedTwice + " " + address() + " " + resets);
        }
    }
}
