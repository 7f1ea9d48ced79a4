// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;

/** One TCP connection in a file, of which nothing is lost. Event loop only. */
final class PcapTcpConnection {

    /** Which way a packet goes. */
    enum Way {
        SENT,
        RECEIVED;

        Way other() {
            return this == SENT ? RECEIVED : SENT;
        }
    }

    static final int FIN = 0x01;
    static final int RESET = 0x04;
    static final int PUSH = 0x08;
    private static final int SYN = 0x02;
    private static final int ACK = 0x10;

    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int TCP_HEADER = 20;
    private static final byte TCP = 6;
    private static final int HOPS = 64;
    private static final byte[] NOTHING = {};

    private static final class Stream {
        private final InetSocketAddress from;
        private int sequence;

        Stream(InetSocketAddress from) {
            this.from = from;
        }
    }

    private final RdmaPcapFile file;
    private final Stream sent;
    private final Stream received;
    private final Runnable startup;

    /** The number of the file that shows the start-up. */
    private int fileNumber;

    /**
     * @param startup puts the start-up, beginning with the {@link #handshake}: each file shows it, because Wireshark
     *     needs it to decode the rest
     */
    PcapTcpConnection(
            RdmaPcapFile file,
            InetSocketAddress local,
            InetSocketAddress remote,
            Runnable startup) {
        this.file = file;
        this.sent = new Stream(local);
        this.received = new Stream(remote);
        this.startup = startup;
    }

    void begin() {
        synchronized (file) {
            fileNumber = file.number();
            startup.run();
        }
    }

    /** Begins to count bytes from 1, as do the sequence numbers behind SYN. */
    void handshake(Way first) {
        sent.sequence = 0;
        received.sequence = 0;
        put(first, SYN, NOTHING);
        put(first.other(), SYN, NOTHING);
        put(first, 0, NOTHING);
    }

    /** Writes a packet, in a new file behind the start-up. */
    void segment(Way way, int flags, byte[] payload) {
        synchronized (file) {
            file.makeRoom(IPV6_HEADER + TCP_HEADER + payload.length);
            if (file.number() != fileNumber) {
                begin();
            }
            put(way, flags, payload);
        }
    }

    /** As {@link #segment}, in the current file. */
    void put(Way way, int flags, byte[] payload) {
        Stream own = way == Way.SENT ? sent : received;
        Stream other = way == Way.SENT ? received : sent;
        boolean isFirst = flags == SYN && other.sequence == 0;
        int all = isFirst ? flags : flags | ACK;
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
        packet.putInt(own.sequence).putInt(isFirst ? 0 : other.sequence);
        packet.put((byte) 0x50).put((byte) all).putShort((short) 0xffff);
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
