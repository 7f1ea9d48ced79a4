// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.capture;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A packet of a capture, of TCP over IPv4.
 *
 * @param kept the bytes from the header of IP on
 * @param length how long it was
 */
record Packet(ByteBuffer kept, int length) {

    private static final int BLOCK = 6;
    private static final int IP_AND_TCP = 40;

    static List<Packet> in(Path path) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(path));
        List<Packet> packets = new ArrayList<>();
        while (file.hasRemaining()) {
            int start = file.position();
            int type = file.getInt();
            int length = file.getInt();
            if (file.getInt(start + length - 4) != length) {
                throw new IOException("block of " + length + " bytes at " + start);
            }
            if (type == BLOCK) {
                byte[] kept = new byte[file.getInt(start + 20)];
                file.get(start + 28, kept);
                packets.add(new Packet(ByteBuffer.wrap(kept), file.getInt(start + 24)));
            }
            file.position(start + length);
        }
        return packets;
    }

    private int at(int index) {
        return kept.get(index) & 0xff;
    }

    /** The sender's port. */
    int port() {
        return at(20) << 8 | at(21);
    }

    int sequence() {
        return kept.getInt(24);
    }

    int flags() {
        return at(33);
    }

    int payloadLength() {
        return length - IP_AND_TCP;
    }

    byte[] payload() {
        byte[] payload = new byte[kept.capacity() - IP_AND_TCP];
        kept.get(IP_AND_TCP, payload);
        return payload;
    }

    /** The first bytes of the payload. */
    String text(int bytes) {
        return new String(payload(), 0, bytes, StandardCharsets.US_ASCII);
    }
}
