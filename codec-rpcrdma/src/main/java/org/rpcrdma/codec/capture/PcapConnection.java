// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One connection as iWARP over TCP (RFC 5044, 5041, 5040) in a file: each FPDU is a segment of its own, nothing is
 * lost, and CRCs are agreed not to be used. Event loop only.
 */
final class PcapConnection {

    /** Which way a packet goes. */
    enum Way {
        SENT,
        RECEIVED
    }

    private static final int RDMA_WRITE = 0;
    private static final int READ_REQUEST = 1;
    private static final int READ_RESPONSE = 2;
    private static final int SEND = 3;
    private static final int SEND_WITH_INVALIDATE = 4;

    /** Of the DDP control byte; its last bits are the version, 1. */
    private static final int TAGGED = 0x80;

    private static final int LAST = 0x40;
    private static final int DDP_VERSION = 1;
    private static final int RDMAP_VERSION = 0x40;

    private static final int TAGGED_HEADER = 14;
    private static final int UNTAGGED_HEADER = 18;

    /** So much fits into one IP packet, with any headers. */
    private static final int MOST_PAYLOAD = 32 << 10;

    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int TCP_HEADER = 20;
    private static final byte TCP = 6;
    private static final int HOPS = 64;
    private static final int SYN = 0x02;
    private static final int PUSH = 0x08;
    private static final int ACK = 0x10;
    private static final int FIN = 0x01;

    /** One direction of the connection. */
    private static final class Stream {
        private final InetSocketAddress from;
        private int sequence;

        // Untagged queues (RFC 5040, 5.1): messages are counted from 1.
        private int sends = 1;
        private int reads = 1;

        Stream(InetSocketAddress from) {
            this.from = from;
        }
    }

    private final RdmaPcapFile file;
    private final Stream[] streams;

    // The start-up, which each file shows.
    private Way first;
    private byte[] request;
    private byte[] reply;

    /** The number of the file that shows it. */
    private int fileNumber;

    /** Stands for the memory that the next Read goes to. */
    private int nextSink = 1;

    PcapConnection(RdmaPcapFile file, InetSocketAddress local, InetSocketAddress remote) {
        this.file = file;
        streams = new Stream[] {new Stream(local), new Stream(remote)};
    }

    /**
     * The connection is established.
     *
     * @param connecting the way of what the connecting side sends
     */
    void opened(Way connecting, byte[] requestData, byte[] replyData) {
        first = connecting;
        request = startup("MPA ID Req Frame", requestData);
        reply = startup("MPA ID Rep Frame", replyData);
        synchronized (file) {
            fileNumber = file.number();
            showStartup();
        }
    }

    private void showStartup() {
        Way second = first == Way.SENT ? Way.RECEIVED : Way.SENT;
        streams[0].sequence = 0;
        streams[1].sequence = 0;
        put(first, SYN, new byte[0]);
        put(second, SYN | ACK, new byte[0]);
        put(first, ACK, new byte[0]);
        put(first, PUSH | ACK, request);
        put(second, PUSH | ACK, reply);
    }

    void closed() {
        segment(Way.SENT, FIN | ACK, new byte[0]);
        segment(Way.RECEIVED, FIN | ACK, new byte[0]);
    }

    /** RFC 5044, 7.1: no markers, no CRC, revision 1. */
    private static byte[] startup(String key, byte[] data) {
        ByteBuffer frame = ByteBuffer.allocate(20 + data.length);
        frame.put(key.getBytes(StandardCharsets.US_ASCII)).put((byte) 0).put((byte) 1);
        return frame.putShort((short) data.length).put(data).array();
    }

    // ------------------------------------------------------------------ RDMAP

    /** A Send of the readable bytes. */
    void send(Way way, ByteBuf message) {
        untagged(way, SEND, 0, 0, stream(way).sends++, message);
    }

    void sendWithInvalidate(Way way, ByteBuf message, int handle) {
        untagged(way, SEND_WITH_INVALIDATE, handle, 0, stream(way).sends++, message);
    }

    void write(Way way, int handle, long offset, ByteBuf data, int index, int length) {
        tagged(way, RDMA_WRITE, handle, offset, data, index, length);
    }

    /**
     * The request of an RDMA Read.
     *
     * @return what {@link #readResponse} has to know
     */
    int readRequest(Way way, int handle, long offset, int length) {
        int sink = nextSink++;
        ByteBuffer request = ByteBuffer.allocate(28);
        request.putInt(sink).putLong(0).putInt(length).putInt(handle).putLong(offset).flip();
        untagged(way, READ_REQUEST, 0, 1, stream(way).reads++, Unpooled.wrappedBuffer(request));
        return sink;
    }

    void readResponse(Way way, int sink, ByteBuf data, int index, int length) {
        tagged(way, READ_RESPONSE, sink, 0, data, index, length);
    }

    private void untagged(
            Way way, int opcode, int invalidate, int queue, int number, ByteBuf message) {
        int start = message.readerIndex();
        int length = message.readableBytes();
        int done = 0;
        do {
            int part = Math.min(length - done, MOST_PAYLOAD);
            boolean isLast = done + part == length;
            ByteBuffer ulpdu = ByteBuffer.allocate(UNTAGGED_HEADER + part);
            ulpdu.put((byte) ((isLast ? LAST : 0) | DDP_VERSION));
            ulpdu.put((byte) (RDMAP_VERSION | opcode));
            ulpdu.putInt(invalidate).putInt(queue).putInt(number).putInt(done);
            message.getBytes(start + done, ulpdu);
            fpdu(way, ulpdu.array());
            done += part;
        } while (done < length);
    }

    private void tagged(
            Way way, int opcode, int handle, long offset, ByteBuf data, int index, int length) {
        int done = 0;
        do {
            int part = Math.min(length - done, MOST_PAYLOAD);
            boolean isLast = done + part == length;
            ByteBuffer ulpdu = ByteBuffer.allocate(TAGGED_HEADER + part);
            ulpdu.put((byte) (TAGGED | (isLast ? LAST : 0) | DDP_VERSION));
            ulpdu.put((byte) (RDMAP_VERSION | opcode));
            ulpdu.putInt(handle).putLong(offset + done);
            data.getBytes(index + done, ulpdu);
            fpdu(way, ulpdu.array());
            done += part;
        } while (done < length);
    }

    /** RFC 5044, 4.1: length, ULPDU, padding, and an unused CRC field. */
    private void fpdu(Way way, byte[] ulpdu) {
        int padded = (2 + ulpdu.length + 3) & ~3;
        ByteBuffer fpdu = ByteBuffer.allocate(padded + 4);
        segment(way, PUSH | ACK, fpdu.putShort((short) ulpdu.length).put(ulpdu).array());
    }

    // ------------------------------------------------------------------ TCP

    private Stream stream(Way way) {
        return streams[way == Way.SENT ? 0 : 1];
    }

    /** Repeats the start-up at the beginning of each new file, because Wireshark needs it to decode the rest. */
    private void segment(Way way, int flags, byte[] payload) {
        synchronized (file) {
            file.makeRoom(IPV6_HEADER + TCP_HEADER + payload.length);
            if (file.number() != fileNumber) {
                fileNumber = file.number();
                showStartup();
            }
            put(way, flags, payload);
        }
    }

    private void put(Way way, int flags, byte[] payload) {
        Stream own = stream(way);
        Stream other = stream(way == Way.SENT ? Way.RECEIVED : Way.SENT);
        byte[] from = own.from.getAddress().getAddress();
        byte[] to = other.from.getAddress().getAddress();
        boolean isIpv4 = from.length == 4 && to.length == 4;
        int length = TCP_HEADER + payload.length;
        ByteBuffer packet = ByteBuffer.allocate((isIpv4 ? IPV4_HEADER : IPV6_HEADER) + length);
        if (isIpv4) {
            packet.putShort((short) 0x4500).putShort((short) (IPV4_HEADER + length));
            packet.putInt(0x4000).put((byte) HOPS).put(TCP).putShort((short) 0); // do not fragment
            packet.put(from).put(to);
            packet.putShort(10, checksum(packet, IPV4_HEADER));
        } else {
            packet.putInt(0x60000000).putShort((short) length).put(TCP).put((byte) HOPS);
            packet.put(ipv6(from)).put(ipv6(to));
        }
        packet.putShort((short) own.from.getPort()).putShort((short) other.from.getPort());
        packet.putInt(own.sequence).putInt((flags & ACK) == 0 ? 0 : other.sequence);
        packet.put((byte) 0x50).put((byte) flags).putShort((short) 0xffff);
        packet.putInt(0).put(payload); // no checksum, nothing urgent
        own.sequence += payload.length + ((flags & (SYN | FIN)) == 0 ? 0 : 1);
        file.packet(packet.array());
    }

    private static byte[] ipv6(byte[] address) {
        if (address.length == 16) {
            return address;
        }
        byte[] mapped = new byte[16];
        mapped[10] = (byte) 0xff;
        mapped[11] = (byte) 0xff;
        System.arraycopy(address, 0, mapped, 12, 4);
        return mapped;
    }

    private static short checksum(ByteBuffer header, int length) {
        int sum = 0;
        for (int i = 0; i < length; i += 2) {
            sum += header.getShort(i) & 0xffff;
        }
        sum = (sum >>> 16) + (sum & 0xffff);
        return (short) ~(sum + (sum >>> 16));
    }

    /** Placeholder of an address that the device does not report. */
    static InetSocketAddress orAny(SocketAddress address) {
        return address instanceof InetSocketAddress inet && !inet.isUnresolved()
                ? inet
                : new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }
}
