// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** One direction of a connection with markers, by the letter of RFC 5044, 4.3 and 4.4, word by word. Shares no code. */
public final class MarkedStream {

    private final boolean crc;
    private int position;

    public MarkedStream(boolean crc) {
        this.crc = crc;
    }

    /** The bytes of the next FPDU. */
    public byte[] fpdu(byte[] ulpdu) {
        int covered = 2 + ulpdu.length + (-(ulpdu.length + 2) & 3);
        ByteBuffer plain = ByteBuffer.allocate(covered + 4).putShort((short) ulpdu.length);
        plain.put(ulpdu).clear();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int begin = -1;
        while (plain.hasRemaining()) {
            if ((position + out.size()) % 512 == 0) {
                int pointer = begin < 0 ? 0 : out.size() - begin;
                out.writeBytes(new byte[] {0, 0, (byte) (pointer >> 8), (byte) pointer});
            }
            if (begin < 0) {
                begin = out.size();
            }
            if (plain.position() == covered && crc) {
                CRC32C sum = new CRC32C();
                sum.update(out.toByteArray());
                plain.putInt(covered, Integer.reverseBytes((int) sum.getValue()));
            }
            byte[] word = new byte[4];
            plain.get(word);
            out.writeBytes(word);
        }
        position += out.size();
        return out.toByteArray();
    }
}
