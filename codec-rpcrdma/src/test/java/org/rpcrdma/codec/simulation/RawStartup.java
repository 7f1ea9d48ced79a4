// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/** The start-up of a {@link RawConnection}, in either role (RFC 5044, 7.1 and RFC 6581, 9). */
final class RawStartup {

    private static final byte[] REQUEST = "MPA ID Req Frame".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] REPLY = "MPA ID Rep Frame".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER = 20;
    private static final int MARKERS = 0x80;
    private static final int CRC = 0x40;
    private static final int REJECTED = 0x20;
    private static final int ENHANCED = 0x10;
    private static final int HIGH = 0x8000;
    private static final int NEXT = 0x4000;
    private static final int DEPTH = 0x3fff;
    private static final int NO_READY_TO_RECEIVE = -1;
    private static final int SEND = 0;
    private static final int WRITE = 1;
    private static final int READ = 2;

    private final RawConnection connection;
    private final boolean responds;
    private final Random random;
    private final ByteArrayOutputStream arrived = new ByteArrayOutputStream();
    private boolean isBroken;
    private int flags;
    private int revision;
    private int inbound;
    private int outbound;
    private int readyToReceive = NO_READY_TO_RECEIVE;

    RawStartup(RawConnection connection, boolean responds) {
        this.connection = connection;
        this.responds = responds;
        random = connection.random;
    }

    boolean isResponder() {
        return responds;
    }

    private RawAttack attack() {
        return connection.attack();
    }

    // ------------------------------------------------------------------ what is sent

    /** The TCP connection is there. */
    void connected() {
        revision = random.nextInt(4) == 0 ? 1 : 2;
        flags = revision == 2 ? ENHANCED : 0;
        flags |= random.nextInt(4) == 0 ? MARKERS : 0;
        flags |= attack() == RawAttack.CRC || random.nextInt(3) == 0 ? CRC : 0;
        inbound = random.nextInt(5);
        outbound = random.nextInt(5);
        if (revision == 2 && random.nextBoolean()) {
            readyToReceive = random.nextInt(3);
            outbound = Math.max(outbound, readyToReceive == READ ? 1 : 0);
        }
        byte[] frame = frame(REQUEST, forms(inbound, outbound, readyToReceive));
        if (attack() == RawAttack.SURPLUS) {
            connection.expect(RawAttack.End.NOT_STARTED, null);
            frame = Arrays.copyOf(frame, frame.length + 1 + random.nextInt(40));
            isBroken = true;
            connection.send(frame);
        } else if (attack().isStartup()) {
            breakRule(frame, null);
        } else {
            connection.send(frame);
        }
    }

    private int forms(int ird, int ord, int ready) {
        int first = ird | (ready >= 0 ? HIGH : 0) | (ready == SEND ? NEXT : 0);
        int second = ord | (ready == WRITE ? HIGH : 0) | (ready == READ ? NEXT : 0);
        return first << 16 | second;
    }

    private byte[] frame(byte[] key, int forms) {
        boolean isEnhanced = (flags & ENHANCED) != 0;
        int length = connection.privateData.length + (isEnhanced ? 4 : 0);
        ByteBuffer frame = ByteBuffer.allocate(HEADER + length);
        frame.put(key).put((byte) flags).put((byte) revision).putShort((short) length);
        if (isEnhanced) {
            frame.putInt(forms);
        }
        return frame.put(connection.privateData).array();
    }

    /**
     * Sends a frame that is wrong.
     *
     * @param terminate the control field of the Terminate of an initiator; {@code null} for none
     */
    private void breakRule(byte[] frame, String terminate) {
        isBroken = true;
        connection.expect(RawAttack.End.NOT_STARTED, terminate);
        switch (attack()) {
            case STARTUP_REVISION -> frame[17] = (byte) (random.nextBoolean() ? 0 : 3);
            case STARTUP_PRIVATE_DATA -> frame[18] = (byte) (2 + random.nextInt(100));
            case STARTUP_SHORT_DATA -> {
                frame[16] |= ENHANCED;
                frame[17] = 2;
                frame[18] = 0;
                frame[19] = (byte) random.nextInt(4);
                // All that it announces has to come, or the victim rightly waits for the rest.
                frame = Arrays.copyOf(frame, Math.max(frame.length, HEADER + frame[19]));
            }
            case STARTUP_SILENCE -> {
                connection.expect(RawAttack.End.START_TIMED_OUT, null);
                connection.send(Arrays.copyOf(frame, random.nextInt(HEADER)));
                return;
            }
            case STARTUP_END -> {
                connection.expect(RawAttack.End.NOT_STARTED, null);
                connection.send(Arrays.copyOf(frame, 1 + random.nextInt(HEADER - 1)));
                connection.endOutput();
                return;
            }
            default -> frame[random.nextInt(16)] ^= (byte) (1 << random.nextInt(7));
        }
        if (attack() == RawAttack.STARTUP_PRIVATE_DATA) {
            frame[19] = 1;
        }
        connection.send(frame);
    }

    // ------------------------------------------------------------------ what comes

    void arrives(byte next) {
        if (isBroken) {
            connection.wrong("something answers a start-up that is none");
            isBroken = false;
        }
        arrived.write(next);
        byte[] bytes = arrived.toByteArray();
        if (bytes.length < HEADER) {
            return;
        }
        int length = ByteBuffer.wrap(bytes).getShort(18);
        if (bytes.length < HEADER + length) {
            return;
        }
        arrived.reset();
        byte[] key = Arrays.copyOf(bytes, 16);
        if (!Arrays.equals(key, responds ? REQUEST : REPLY)) {
            connection.wrong("a start-up frame has another key");
        }
        boolean isEnhanced = (bytes[16] & ENHANCED) != 0;
        int forms = isEnhanced ? ByteBuffer.wrap(bytes).getInt(HEADER) : 0;
        if (responds) {
            requested(bytes[16], bytes[17], forms);
        } else {
            replied(bytes[16], bytes[17], forms);
        }
    }

    private void replied(int theirs, int theirRevision, int forms) {
        if (theirRevision != revision || ((theirs ^ flags) & ENHANCED) != 0) {
            connection.wrong("a Reply has another revision than its Request");
        }
        if ((theirs & REJECTED) != 0) {
            if (connection.isStrict()) {
                connection.wrong("is rejected");
            }
            return;
        }
        boolean crc = ((theirs | flags) & CRC) != 0;
        if (crc && (theirs & CRC) == 0) {
            connection.wrong("a Reply does without the CRC that was asked for");
        }
        int ird = connection.victim.size.inboundReads();
        int ord = Math.min(1, connection.victim.size.outboundReads());
        if ((flags & ENHANCED) != 0) {
            ird = forms >>> 16 & DEPTH;
            ord = forms & DEPTH;
            if (ord > inbound || ird > Math.max(outbound, 1)) {
                connection.wrong("a Reply agrees to more Reads than were asked for");
            }
            if (readyToReceive >= 0 && (forms & listed()) == 0) {
                connection.wrong("a Reply does not list the form that was asked for");
            }
        }
        open(crc, (theirs & MARKERS) != 0, ord, ird);
    }

    private int listed() {
        return switch (readyToReceive) {
            case SEND -> NEXT << 16;
            case WRITE -> HIGH;
            default -> NEXT;
        };
    }

    private void requested(int theirs, int theirRevision, int forms) {
        revision = theirRevision;
        boolean isEnhanced = (theirs & ENHANCED) != 0;
        flags = theirs & ENHANCED;
        flags |= random.nextInt(4) == 0 && !attack().isStartup() ? MARKERS : 0;
        flags |= attack() == RawAttack.CRC || random.nextInt(3) == 0 ? CRC : 0;
        int theirInbound = forms >>> 16 & DEPTH;
        int theirOutbound = forms & DEPTH;
        int expected = connection.victim.size.inboundReads();
        if (isEnhanced && theirInbound != expected) {
            connection.wrong("a Request has another depth than its queue pair");
        }
        inbound = isEnhanced ? Math.min(theirOutbound, random.nextInt(5)) : 1;
        outbound = isEnhanced ? Math.min(theirInbound, random.nextInt(5)) : expected;
        boolean isPeerToPeer = (forms >>> 16 & HIGH) != 0;
        if (isPeerToPeer) {
            chooseReadyToReceive(forms, theirOutbound);
        }
        boolean crc = ((theirs | flags) & CRC) != 0;
        flags |= theirs & CRC;
        boolean isBreaking = attack().isStartup() && attack() != RawAttack.SURPLUS;
        if (isBreaking) {
            breakReply(isPeerToPeer, theirInbound, (theirs & CRC) != 0);
            return;
        }
        connection.send(frame(REPLY, forms(inbound, outbound, readyToReceive)));
        boolean isSend = readyToReceive == SEND;
        readyToReceive = NO_READY_TO_RECEIVE;
        if (isSend) {
            connection.expectReadyToReceive();
        }
        open(crc, (theirs & MARKERS) != 0, inbound, outbound);
    }

    private void chooseReadyToReceive(int forms, int theirOutbound) {
        readyToReceive = random.nextInt(3);
        while ((forms & listed()) == 0) {
            readyToReceive = (readyToReceive + 1) % 3;
        }
        if (readyToReceive == READ) {
            inbound = Math.max(1, Math.min(inbound, theirOutbound));
        }
    }

    private void breakReply(boolean isPeerToPeer, int theirInbound, boolean theyAskForCrc) {
        boolean isEnhanced = (flags & ENHANCED) != 0;
        String terminate = "20040000";
        byte[] frame = frame(REPLY, forms(inbound, outbound, readyToReceive));
        boolean crc = (flags & CRC) != 0;
        switch (attack()) {
            case STARTUP_REJECTS -> {
                frame[16] |= REJECTED;
                connection.expect(RawAttack.End.NOT_STARTED, null);
            }
            case STARTUP_OTHER_REVISION -> {
                frame[17] = (byte) (3 - revision);
                connection.expect(RawAttack.End.NOT_STARTED, terminate);
            }
            case STARTUP_DEPTH -> {
                if (isEnhanced) {
                    int wrong =
                            forms(inbound, theirInbound + 1 + random.nextInt(9), readyToReceive);
                    ByteBuffer.wrap(frame).putInt(HEADER, wrong);
                    connection.expect(RawAttack.End.NOT_STARTED, "20060000");
                } else {
                    frame[3] ^= 1;
                    crc = theyAskForCrc;
                    connection.expect(RawAttack.End.NOT_STARTED, terminate);
                }
            }
            case STARTUP_NO_READY_TO_RECEIVE -> {
                if (isPeerToPeer) {
                    ByteBuffer.wrap(frame).putInt(HEADER, (inbound | HIGH) << 16 | outbound);
                    connection.expect(RawAttack.End.NOT_STARTED, "20070000");
                } else {
                    frame[4] ^= 1;
                    crc = theyAskForCrc;
                    connection.expect(RawAttack.End.NOT_STARTED, terminate);
                }
            }
            default -> {
                crc = theyAskForCrc;
                connection.opens(framing(crc, false, false));
                breakRule(frame, terminate);
                return;
            }
        }
        isBroken = true;
        connection.opens(framing(crc, false, false));
        connection.send(frame);
    }

    private RawFpdus framing(boolean crc, boolean markersOut, boolean markersIn) {
        return new RawFpdus(crc, markersOut, markersIn, connection::arrives, connection::isNoFpdu);
    }

    private void open(boolean crc, boolean markersOut, int ird, int ord) {
        int own = connection.victim.size.inboundReads();
        RawFpdus framing = framing(crc, markersOut, (flags & MARKERS) != 0);
        connection.opened(framing, ird, ord, responds ? own : ord, readyToReceive);
    }
}
