// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/** The header of one DDP segment, RFC 5041, 4. Reused for each received segment. */
public final class DdpSegmentHeader {

    /** Bytes of the header of a tagged segment. */
    public static final int TAGGED_BYTES = 14;

    /** Bytes of the header of an untagged segment. */
    public static final int UNTAGGED_BYTES = 18;

    private static final int TAGGED = 0x80;
    private static final int LAST = 0x40;
    private static final int VERSION_MASK = 0x03;
    private static final int VERSION = 1;

    private int ulpduLength;
    public int headerBytes;
    public int payloadBytes;
    private int control;
    public boolean isTagged;
    public boolean isLast;

    /** The byte of the DDP header that belongs to the layer above (RsvdULP). */
    public int ulpControl;

    private int stag;
    private long taggedOffset;

    /** Of an untagged segment: its QN. */
    public int queueNumber;

    /** Of an untagged segment: its MSN. */
    public int messageNumber;

    /** Of an untagged segment: its MO, unsigned. */
    public int messageOffset;

    /**
     * Decodes the header of a received segment.
     *
     * @param bytes holds at least the header, or the whole ULPDU if it is shorter
     * @param at the index of the first byte
     * @param length the bytes of the ULPDU
     * @throws StreamException when the ULPDU is shorter than its header or of another version
     */
    public void decode(ByteBuffer bytes, int at, int length) throws StreamException {
        ulpduLength = 0;
        payloadBytes = 0;
        isTagged = length > 0 && (bytes.get(at) & TAGGED) != 0;
        headerBytes = isTagged ? TAGGED_BYTES : UNTAGGED_BYTES;
        if (length < headerBytes) {
            throw new StreamException(
                    MpaError.FRAMING,
                    "ULPDU of " + length + " bytes is shorter than the header of a DDP segment");
        }
        ulpduLength = length;
        payloadBytes = length - headerBytes;
        control = bytes.get(at) & 0xff;
        isLast = (control & LAST) != 0;
        ulpControl = bytes.get(at + 1) & 0xff;
        stag = bytes.getInt(at + 2);
        if (isTagged) {
            taggedOffset = bytes.getLong(at + 6);
        } else {
            queueNumber = bytes.getInt(at + 6);
            messageNumber = bytes.getInt(at + 10);
            messageOffset = bytes.getInt(at + 14);
        }
        if ((control & VERSION_MASK) != VERSION) {
            throw new StreamException(
                    isTagged ? DdpError.TAGGED_VERSION : DdpError.UNTAGGED_VERSION,
                    "DDP segment has version "
                            + (control & VERSION_MASK)
                            + ", expected "
                            + VERSION);
        }
    }

    /** Restores the header of an earlier segment, for a Terminate message. */
    public void restoreUntagged(int length, int ulpControlByte, int number, int message) {
        ulpduLength = length;
        headerBytes = UNTAGGED_BYTES;
        payloadBytes = length - UNTAGGED_BYTES;
        control = LAST | VERSION;
        isTagged = false;
        isLast = true;
        ulpControl = ulpControlByte;
        stag = 0;
        queueNumber = number;
        messageNumber = message;
        messageOffset = 0;
    }

    /** Whether a header was decoded: {@code false} if the last ULPDU was too short. */
    public boolean isPresent() {
        return ulpduLength != 0;
    }

    /** Writes the header again as it was received, from the DDP control byte on. */
    public void encode(ByteBuffer out) {
        out.put((byte) control).put((byte) ulpControl).putInt(stag);
        if (isTagged) {
            out.putLong(taggedOffset);
        } else {
            out.putInt(queueNumber).putInt(messageNumber).putInt(messageOffset);
        }
    }

    /** Writes the header of a tagged segment. */
    public static void encodeTagged(
            ByteBuffer out, boolean last, int ulpControl, int stag, long taggedOffset) {
        out.put((byte) (TAGGED | (last ? LAST : 0) | VERSION)).put((byte) ulpControl);
        out.putInt(stag).putLong(taggedOffset);
    }

    /** Writes the header of an untagged segment. */
    public static void encodeUntagged(
            ByteBuffer out,
            boolean last,
            int ulpControl,
            int ulpWord,
            int queue,
            int message,
            int offset) {
        out.put((byte) ((last ? LAST : 0) | VERSION)).put((byte) ulpControl);
        out.putInt(ulpWord).putInt(queue).putInt(message).putInt(offset);
    }

    public int ulpduLength() {
        return ulpduLength;
    }

    /** Of a tagged segment: its STag. */
    public int stag() {
        return stag;
    }

    /** Of an untagged segment: the 4 bytes that belong to the layer above (RsvdULP). */
    public int ulpWord() {
        return stag;
    }

    /** Of a tagged segment: its TO, unsigned. */
    public long taggedOffset() {
        return taggedOffset;
    }
}
