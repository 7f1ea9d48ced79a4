// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.rpcrdma.codec.capture.PcapTcpConnection.Way;

/**
 * One connection as iWARP over TCP (RFC 5044, 5041, 5040) in a file: each FPDU is a segment of its own, nothing is
 * lost, and CRCs are agreed not to be used. Event loop only.
 */
final class PcapIwarpConnection {

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
    static final int MOST_PAYLOAD = 32 << 10;

    /** One direction of the connection. */
    private static final class Stream {
        // Untagged queues (RFC 5040, 5.1): messages are counted from 1.
        private int sends = 1;
        private int reads = 1;
    }

    private final PcapTcpConnection tcp;
    private final Stream sent = new Stream();
    private final Stream received = new Stream();

    // The start-up, which each file shows.
    private Way first;
    private byte[] request;
    private byte[] reply;

    /** Stands for the memory that the next Read goes to. */
    private int nextSink = 1;

    PcapIwarpConnection(RdmaPcapFile file, InetSocketAddress local, InetSocketAddress remote) {
        tcp = new PcapTcpConnection(file, local, remote, this::showStartup);
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
        tcp.begin();
    }

    private void showStartup() {
        tcp.handshake(first);
        tcp.put(first, PcapTcpConnection.PUSH, request);
        tcp.put(first.other(), PcapTcpConnection.PUSH, reply);
    }

    void closed() {
        tcp.segment(Way.SENT, PcapTcpConnection.FIN, new byte[0]);
        tcp.segment(Way.RECEIVED, PcapTcpConnection.FIN, new byte[0]);
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
        tcp.segment(
                way,
                PcapTcpConnection.PUSH,
                fpdu.putShort((short) ulpdu.length).put(ulpdu).array());
    }

    private Stream stream(Way way) {
        return way == Way.SENT ? sent : received;
    }
}
