// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * A scripted peer on a plain socket, which knows nothing of our code: it sends any bytes, and reads what comes back
 * while the contexts under test are polled.
 */
final class RawPeer implements AutoCloseable {

    static final String REQUEST = "4d504120494420526571204672616d65";
    static final String REPLY = "4d504120494420526570204672616d65";

    private final SocketChannel channel;
    private final IwarpContext[] contexts;
    private final ByteBuffer received = ByteBuffer.allocate(1 << 20);
    private boolean ended;
    private boolean reset;

    private RawPeer(SocketChannel channel, IwarpContext... contexts) throws IOException {
        this.channel = channel;
        this.contexts = contexts;
        channel.configureBlocking(false);
    }

    static RawPeer connect(InetSocketAddress address, IwarpContext... contexts) throws IOException {
        return new RawPeer(SocketChannel.open(address), contexts);
    }

    InetSocketAddress localAddress() throws IOException {
        return (InetSocketAddress) channel.getLocalAddress();
    }

    static RawPeer accept(ServerSocketChannel server, IwarpContext... contexts) throws IOException {
        server.configureBlocking(false);
        SocketChannel[] accepted = new SocketChannel[1];
        Pair.until(
                () -> {
                    try {
                        accepted[0] = server.accept();
                        return accepted[0] != null;
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                },
                contexts);
        return new RawPeer(accepted[0], contexts);
    }

    static byte[] hex(String... parts) {
        return HexFormat.of().parseHex(String.join("", parts).replace(" ", ""));
    }

    /** A revision 2 Request with read depths 8 and 8. */
    static byte[] request(boolean crc) {
        return hex(REQUEST, crc ? "50" : "10", "02 0004 0008 0008");
    }

    static byte[] tagged(int control, int opcode, int stag, long offset, byte[] payload) {
        return ByteBuffer.allocate(14 + payload.length)
                .put((byte) control)
                .put((byte) (0x40 | opcode))
                .putInt(stag)
                .putLong(offset)
                .put(payload)
                .array();
    }

    static byte[] untagged(
            int control, int opcode, int word, int qn, int msn, int mo, byte[] payload) {
        return ByteBuffer.allocate(18 + payload.length)
                .put((byte) control)
                .put((byte) (0x40 | opcode))
                .putInt(word)
                .putInt(qn)
                .putInt(msn)
                .putInt(mo)
                .put(payload)
                .array();
    }

    static byte[] readRequest(
            int msn, int sinkStag, long sinkOffset, int size, int stag, long offset) {
        byte[] header =
                ByteBuffer.allocate(28)
                        .putInt(sinkStag)
                        .putLong(sinkOffset)
                        .putInt(size)
                        .putInt(stag)
                        .putLong(offset)
                        .array();
        return untagged(0x41, 1, 0, 1, msn, 0, header);
    }

    static byte[] fpdu(byte[] ulpdu, boolean crc) {
        int covered = 2 + ulpdu.length + (-(ulpdu.length + 2) & 3);
        ByteBuffer fpdu =
                ByteBuffer.allocate(covered + 4).putShort((short) ulpdu.length).put(ulpdu);
        if (crc) {
            CRC32C sum = new CRC32C();
            sum.update(fpdu.array(), 0, covered);
            fpdu.putInt(covered, Integer.reverseBytes((int) sum.getValue()));
        }
        return fpdu.array();
    }

    void send(byte[] bytes) {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        Pair.until(
                () -> {
                    try {
                        channel.write(out);
                    } catch (IOException e) {
                        return true;
                    }
                    return !out.hasRemaining();
                },
                contexts);
    }

    void sendUlpdu(byte[] ulpdu, boolean crc) {
        send(fpdu(ulpdu, crc));
    }

    /** Sends one byte; returns whether the connection is gone. */
    boolean isGone() {
        try {
            channel.write(ByteBuffer.allocate(1));
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    /** Cuts the connection by a reset. */
    void reset() throws IOException {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        channel.close();
    }

    void shutdownOutput() throws IOException {
        channel.shutdownOutput();
    }

    private boolean pump() {
        try {
            int read = channel.read(received);
            ended |= read < 0;
        } catch (IOException e) {
            ended = true;
            reset = true;
        }
        return ended;
    }

    /** The next bytes, exactly so many. */
    byte[] read(int bytes) {
        Pair.until(() -> received.position() >= bytes || pump(), contexts);
        if (received.position() < bytes) {
            throw new AssertionError(
                    "The stream ended after " + received.position() + " of " + bytes + " bytes");
        }
        byte[] result = Arrays.copyOf(received.array(), bytes);
        received.flip().position(bytes);
        received.compact();
        return result;
    }

    /** The ULPDU of the next FPDU. */
    byte[] readUlpdu() {
        byte[] length = read(2);
        int ulpdu = ByteBuffer.wrap(length).getShort() & 0xffff;
        byte[] rest = read(ulpdu + (-(ulpdu + 2) & 3) + 4);
        return Arrays.copyOf(rest, ulpdu);
    }

    /** Waits for the end of the stream and returns what came before it. */
    byte[] readToEnd() {
        Pair.until(this::pump, contexts);
        byte[] result = Arrays.copyOf(received.array(), received.position());
        received.clear();
        return result;
    }

    boolean wasReset() {
        return reset;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
