// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.Arrays;
import java.util.Random;

/** A rule that a {@link RawConnection} breaks, and what the documents say of it. */
enum RawAttack {
    NONE,
    RESET,
    // Start-up: RFC 5044, 7.1 and RFC 6581, 9.
    STARTUP_KEY,
    STARTUP_REVISION,
    STARTUP_PRIVATE_DATA,
    STARTUP_SHORT_DATA,
    STARTUP_SILENCE,
    STARTUP_END,
    STARTUP_REJECTS,
    STARTUP_DEPTH,
    STARTUP_NO_READY_TO_RECEIVE,
    STARTUP_OTHER_REVISION,
    SURPLUS,
    // MPA: RFC 5044, 4 and 8.
    CRC,
    MARKER,
    SHORT_ULPDU,
    EMPTY_ULPDU,
    HALF_FPDU,
    HALF_FPDU_END,
    LONG_ULPDU,
    // DDP: RFC 5041, 4 and 8.2.
    TAGGED_VERSION,
    UNTAGGED_VERSION,
    QUEUE,
    MESSAGE_NUMBER,
    MESSAGE_NUMBER_AGAIN,
    MESSAGE_OFFSET,
    SEND_GAP,
    SEND_TOO_LONG,
    SEND_BECOMES_TOO_LONG,
    NO_RECEIVE,
    HALF_SEND,
    HALF_SEND_END,
    HALF_WRITE_END,
    WRITE_UNKNOWN,
    WRITE_OTHER_KEY,
    WRITE_REVOKED,
    WRITE_FOREIGN,
    WRITE_READABLE,
    WRITE_BEFORE,
    WRITE_BEHIND,
    WRITE_TOO_LONG,
    WRITE_WRAPS,
    WRITE_SECOND_LEAVES,
    WRITE_CHANGES_KEY,
    // RDMAP: RFC 5040, 4, 5 and 7.
    RDMAP_VERSION,
    OPCODE,
    TAGGED_SEND,
    UNTAGGED_WRITE,
    SEND_CHANGES_OPCODE,
    INVALIDATE_UNKNOWN,
    INVALIDATE_FOREIGN,
    INVALIDATE_TWICE,
    READ_UNKNOWN,
    READ_OTHER_KEY,
    READ_REVOKED,
    READ_FOREIGN,
    READ_WRITABLE,
    READ_BEFORE,
    READ_BEHIND,
    READ_HUGE,
    READ_WRAPS,
    READ_REQUEST_LONG,
    READ_REQUEST_SHORT,
    READ_REQUEST_NOT_LAST,
    READ_QUEUE,
    READ_MESSAGE_NUMBER,
    TOO_MANY_READS,
    RESPONSE_TO_NOTHING,
    RESPONSE_OTHER_SINK,
    RESPONSE_OFFSET,
    RESPONSE_TOO_LONG,
    RESPONSE_ENDS_EARLY,
    RESPONSE_DOES_NOT_END,
    RESPONSE_HALF_END,
    // What the victim does itself.
    VICTIM_LEAVES,
    VICTIM_LEAVES_UNREAD,
    VICTIM_ERRS,
    TERMINATE,
    TERMINATE_READ;

    /** How the connection has to end. */
    enum End {
        /** By the end of the stream between two messages: no error. */
        ORDERLY,
        /** By a Terminate of the victim. */
        TERMINATED,
        /** Without one. */
        LOST,
        /** Because nothing more comes of what has begun. */
        STALLED,
        /** By a Terminate of the rogue. */
        BY_PEER,
        /** By the victim, although the rogue keeps its end. */
        LEFT,
        /** Before there is a connection. */
        NOT_STARTED,
        START_TIMED_OUT,
        /** One or the other. */
        ANY
    }

    private static final byte[] NOTHING = {};

    /** Of a start-up alone. */
    boolean isStartup() {
        return compareTo(STARTUP_KEY) >= 0 && compareTo(SURPLUS) <= 0;
    }

    /** Those start-ups that only an end can get wrong that was connected to. */
    boolean needsResponder() {
        return compareTo(STARTUP_REJECTS) >= 0 && compareTo(STARTUP_OTHER_REVISION) <= 0;
    }

    boolean needsRead() {
        return (compareTo(RESPONSE_OTHER_SINK) >= 0 && compareTo(RESPONSE_HALF_END) <= 0)
                || this == TERMINATE_READ;
    }

    boolean isSurplus() {
        return this == SURPLUS;
    }

    boolean isTooLong() {
        return this == SEND_TOO_LONG || this == SEND_BECOMES_TOO_LONG;
    }

    /** Whether a start-up that breaks the rule counts as refused, by an end that was connected to, or has connected. */
    boolean isRefused(boolean responds) {
        return isStartup()
                && this != STARTUP_SILENCE
                && this != STARTUP_REJECTS
                && this != SURPLUS
                && !(responds && this == STARTUP_END);
    }

    /** Whether the keys of the victim have to be valid. */
    boolean needsKeys() {
        return name().startsWith("WRITE")
                || name().startsWith("READ")
                || name().startsWith("INVALIDATE")
                || this == HALF_WRITE_END
                || this == TAGGED_SEND
                || this == TAGGED_VERSION
                || this == TOO_MANY_READS;
    }

    /** Whether the connection lives on, so that more may be sent. */
    boolean goesOn() {
        return !isStartup()
                && this != NONE
                && this != RESET
                && this != TOO_MANY_READS
                && !name().startsWith("HALF")
                && this != LONG_ULPDU
                && this != RESPONSE_HALF_END
                && !name().startsWith("VICTIM")
                && this != MARKER
                && this != NO_RECEIVE;
    }

    boolean isEndOfOutput() {
        return this == NONE || this == TOO_MANY_READS || (name().endsWith("_END") && !isStartup());
    }

    boolean mayRead() {
        return this == TOO_MANY_READS;
    }

    /** Breaks the rule, and says how the connection has to end. */
    void begin(RawConnection c) {
        RawVictim v = c.victim;
        Random random = c.random;
        byte[] some = new byte[1 + random.nextInt(60)];
        Arrays.fill(some, (byte) 0x77);
        int msn = c.nextMessage();
        long to = v.writableOffset;
        switch (this) {
            case NONE -> c.expect(End.ORDERLY, null);
            case RESET -> {
                c.expect(End.ANY, null);
                c.cut();
            }
            case CRC -> {
                if (!c.fpdus.hasCrc()) {
                    c.expect(End.ANY, null);
                    c.cut();
                    return;
                }
                c.expect(End.TERMINATED, "20020000");
                byte[] fpdu = c.fpdus.fpdu(write(v.writableKey, to, some));
                fpdu[random.nextBoolean() ? fpdu.length - 1 : 8 + random.nextInt(4)] ^= 0x20;
                c.sendRaw(fpdu);
            }
            case MARKER -> marker(c, write(v.writableKey, to, NOTHING));
            case SHORT_ULPDU ->
                    c.by("20030000", Arrays.copyOf(send(msn, 0, NOTHING), random.nextInt(17) + 1));
            case EMPTY_ULPDU -> c.by("20030000", NOTHING);
            case HALF_FPDU, HALF_FPDU_END -> {
                c.expect(this == HALF_FPDU ? End.STALLED : End.LOST, null);
                byte[] fpdu = c.fpdus.fpdu(send(msn, 0, some));
                c.sendRaw(Arrays.copyOf(fpdu, 1 + random.nextInt(fpdu.length - 1)));
            }
            case LONG_ULPDU -> {
                c.expect(End.STALLED, null);
                byte[] fpdu = c.fpdus.fpdu(send(msn, 0, some));
                fpdu[1] = (byte) (fpdu[1] + 20);
                c.sendRaw(c.fpdus.hasMarkersOut() ? Arrays.copyOf(fpdu, 3) : fpdu);
            }
            case TAGGED_VERSION ->
                    c.by(
                            "1104c000",
                            with(write(v.writableKey, to, some), 0, version(0xc0, random)));
            case UNTAGGED_VERSION ->
                    c.by("1206c000", with(send(msn, 0, some), 0, version(0x40, random)));
            case RDMAP_VERSION ->
                    c.by(
                            "0205c000",
                            with(send(msn, 0, some), 1, 3 | (random.nextBoolean() ? 0 : 0x80)));
            case OPCODE -> c.by("0206c000", with(send(msn, 0, some), 1, 0x48 + random.nextInt(8)));
            case QUEUE ->
                    c.by("1201c000", RawFpdus.untagged(true, 3, 0, other(random, 0), msn, 0, some));
            case READ_QUEUE ->
                    c.by(
                            "1201c000",
                            RawFpdus.untagged(
                                    true,
                                    1,
                                    0,
                                    other(random, 1),
                                    c.nextReadMessage(),
                                    0,
                                    new byte[28]));
            case MESSAGE_NUMBER -> c.by("1203c000", send(msn + 1 + random.nextInt(3), 0, some));
            case MESSAGE_NUMBER_AGAIN -> {
                c.sendMessage(RawVictim.Command.NOTHING, 0);
                c.by("1203c000", send(msn, 0, some));
            }
            case MESSAGE_OFFSET -> c.by("1204c000", send(msn, random.nextBoolean() ? -1 : 1, some));
            case SEND_GAP -> {
                c.sendPart(RawFpdus.untagged(false, 3, 0, 0, msn, 0, some));
                int place = some.length + (random.nextBoolean() ? 1 : -1);
                c.by("1204c000", send(msn, place, some));
            }
            case SEND_TOO_LONG ->
                    c.by("1205c000", send(msn, 0, new byte[257 + random.nextInt(90)]));
            case SEND_BECOMES_TOO_LONG -> {
                c.sendPart(RawFpdus.untagged(false, 3, 0, 0, msn, 0, new byte[256]));
                c.by("1205c000", send(msn, 256, some));
            }
            case NO_RECEIVE -> {
                c.sendMessage(RawVictim.Command.NO_RECEIVES, 0);
                for (int i = 1; i < RawVictim.RECEIVES; i++) {
                    c.sendMessage(RawVictim.Command.NOTHING, 0);
                }
                c.by("1202c000", send(c.nextMessage(), 0, some));
            }
            case HALF_SEND, HALF_SEND_END -> {
                c.expect(this == HALF_SEND ? End.STALLED : End.LOST, null);
                c.sendPart(RawFpdus.untagged(false, 3, 0, 0, msn, 0, some));
            }
            case HALF_WRITE_END -> {
                c.expect(End.LOST, null);
                c.sendPart(RawFpdus.tagged(false, 0, v.writableKey, to, NOTHING));
            }
            case WRITE_UNKNOWN -> c.by("1100c000", write(random.nextInt(), to, some));
            case WRITE_OTHER_KEY ->
                    c.by("1100c000", write(v.writableKey ^ (1 + random.nextInt(255)), to, some));
            case WRITE_REVOKED -> {
                c.sendMessage(RawVictim.Command.REVOKE_WRITE, 0);
                c.whenRevoked("1100c000", write(v.writableKey, to, some));
            }
            case WRITE_FOREIGN ->
                    c.by("1102c000", write(v.foreignWritableKey, v.foreignWritableOffset, some));
            case WRITE_READABLE -> c.by("0102c000", write(v.readableKey, v.readableOffset, some));
            case WRITE_BEFORE ->
                    c.by("1101c000", write(v.writableKey, to - 1 - random.nextInt(99), some));
            case WRITE_BEHIND -> {
                int over = random.nextInt(some.length);
                c.by("1101c000", write(v.writableKey, to + RawVictim.WRITABLE - over, some));
            }
            case WRITE_TOO_LONG ->
                    c.by("1101c000", write(v.writableKey, to, new byte[RawVictim.WRITABLE + 1]));
            case WRITE_WRAPS ->
                    c.by(
                            "1103c000",
                            write(v.writableKey, -random.nextInt(some.length) - 1L, with(some)));
            case WRITE_SECOND_LEAVES -> {
                c.sendPart(RawFpdus.tagged(false, 0, v.writableKey, to, NOTHING));
                c.by("1101c000", write(v.writableKey, to + RawVictim.WRITABLE, some));
            }
            case WRITE_CHANGES_KEY -> {
                c.sendPart(RawFpdus.tagged(false, 0, v.writableKey, to, NOTHING));
                c.by("1100c000", write(v.writableKey + 1, to, NOTHING));
            }
            case TAGGED_SEND -> c.by("0206c000", RawFpdus.tagged(true, 3, v.writableKey, to, some));
            case UNTAGGED_WRITE -> c.by("0206c000", RawFpdus.untagged(true, 0, 0, 0, msn, 0, some));
            case SEND_CHANGES_OPCODE -> {
                c.sendPart(RawFpdus.untagged(false, 3, 0, 0, msn, 0, some));
                c.by("0206c000", RawFpdus.untagged(true, 5, 0, 0, msn, some.length, some));
            }
            case INVALIDATE_UNKNOWN -> c.by("0209c000", invalidate(random.nextInt(), msn, some));
            case INVALIDATE_FOREIGN ->
                    c.by("0109c000", invalidate(v.foreignWritableKey, msn, some));
            case INVALIDATE_TWICE -> {
                c.sendMessage(RawVictim.Command.REVOKE_WRITE, 0);
                c.whenRevoked("0209c000", invalidate(v.writableKey, msn + 1, some));
            }
            case READ_UNKNOWN -> read(c, "0100e000", random.nextInt(), v.readableOffset, 9);
            case READ_OTHER_KEY ->
                    read(
                            c,
                            "0100e000",
                            v.readableKey ^ (1 + random.nextInt(255)),
                            v.readableOffset,
                            9);
            case READ_REVOKED -> {
                c.sendMessage(RawVictim.Command.REVOKE_READ, 0);
                c.whenRevoked(
                        c.victimDepth == 0 ? "0207c000" : "0100e000",
                        RawFpdus.readRequest(
                                c.nextReadMessage(), 7, 0, 9, v.readableKey, v.readableOffset));
            }
            case READ_FOREIGN ->
                    read(c, "0103e000", v.foreignReadableKey, v.foreignReadableOffset, 9);
            case READ_WRITABLE -> read(c, "0102e000", v.writableKey, to, 9);
            case READ_BEFORE ->
                    read(c, "0101e000", v.readableKey, v.readableOffset - 1 - random.nextInt(9), 9);
            case READ_BEHIND -> {
                long near = v.readableOffset + RawVictim.READABLE - random.nextInt(9);
                read(c, "0101e000", v.readableKey, near, 9);
            }
            case READ_HUGE -> {
                int size = random.nextBoolean() ? -1 : RawVictim.READABLE + 1;
                read(c, "0101e000", v.readableKey, v.readableOffset, size);
            }
            case READ_WRAPS -> read(c, "0104e000", v.readableKey, -1L - random.nextInt(8), 9);
            case READ_REQUEST_LONG -> request(c, 50, true);
            case READ_REQUEST_SHORT -> request(c, 45, true);
            case READ_REQUEST_NOT_LAST -> request(c, 46, false);
            case READ_MESSAGE_NUMBER ->
                    c.by(
                            "1203c000",
                            RawFpdus.readRequest(
                                    c.nextReadMessage() + 1,
                                    7,
                                    0,
                                    9,
                                    v.readableKey,
                                    v.readableOffset));
            case TOO_MANY_READS -> tooManyReads(c);
            case RESPONSE_TO_NOTHING -> {
                if (c.oldestRead() != null) {
                    c.expect(End.ANY, null);
                    c.cut();
                    return;
                }
                c.by("1100c000", RawFpdus.tagged(true, 2, random.nextInt(), 0, some));
            }
            case VICTIM_LEAVES, VICTIM_LEAVES_UNREAD -> {
                c.expect(End.LEFT, null);
                if (this == VICTIM_LEAVES_UNREAD) {
                    c.readLater(Long.MAX_VALUE);
                    c.sendMessage(RawVictim.Command.MIXED, 0);
                }
                c.sendMessage(RawVictim.Command.DISCONNECT, 0);
            }
            case VICTIM_ERRS -> {
                c.expect(End.TERMINATED, "00ff0000");
                c.sendMessage(RawVictim.Command.ERR, 0);
            }
            case TERMINATE -> {
                c.expect(End.BY_PEER, null);
                byte[] about = send(1, 0, NOTHING);
                c.sendPart(RawFpdus.terminate(0x1205c000, about));
            }
            default -> response(c);
        }
    }

    private void response(RawConnection c) {
        long[] read = c.oldestRead();
        if (read == null) {
            c.expect(End.ANY, null);
            c.cut();
            return;
        }
        int sink = (int) read[0];
        int size = (int) read[2];
        byte[] bytes = c.answer(0, size);
        switch (this) {
            case RESPONSE_OTHER_SINK ->
                    c.by("1100c000", RawFpdus.tagged(true, 2, sink + 1, read[1], bytes));
            case RESPONSE_OFFSET ->
                    c.by("1101c000", RawFpdus.tagged(true, 2, sink, read[1] + 1, bytes));
            case RESPONSE_TOO_LONG ->
                    c.by(
                            "1101c000",
                            RawFpdus.tagged(true, 2, sink, read[1], c.answer(0, size + 1)));
            case RESPONSE_ENDS_EARLY ->
                    c.by(
                            "1101c000",
                            RawFpdus.tagged(true, 2, sink, read[1], c.answer(0, size - 1)));
            case RESPONSE_DOES_NOT_END ->
                    c.by("1101c000", RawFpdus.tagged(false, 2, sink, read[1], bytes));
            case RESPONSE_HALF_END -> {
                c.expect(size > 1 ? End.LOST : End.ORDERLY, null);
                byte[] half = c.answer(0, size / 2);
                c.sendPart(RawFpdus.tagged(false, 2, sink, read[1], half));
            }
            default -> {
                c.expect(End.BY_PEER, null);
                byte[] about = RawFpdus.untagged(true, 1, 0, 1, 1, 0, new byte[28]);
                c.sendPart(RawFpdus.terminate(0x0101c000, about));
            }
        }
    }

    private static void read(RawConnection c, String control, int key, long offset, int size) {
        byte[] request = RawFpdus.readRequest(c.nextReadMessage(), 7, 0, size, key, offset);
        // RFC 5040, 4.8: without a depth it is one Read too many before its key counts.
        c.by(c.victimDepth == 0 ? "0207c000" : control, request);
    }

    private static void request(RawConnection c, int length, boolean last) {
        RawVictim v = c.victim;
        byte[] request =
                RawFpdus.readRequest(c.nextReadMessage(), 7, 0, 9, v.readableKey, v.readableOffset);
        c.by("20030000", with(Arrays.copyOf(request, length), 0, last ? 0x41 : 0x01));
    }

    private static void tooManyReads(RawConnection c) {
        RawVictim v = c.victim;
        c.expect(End.ANY, "0207c000");
        for (int i = 0; i <= c.victimDepth; i++) {
            byte[] request =
                    RawFpdus.readRequest(
                            c.nextReadMessage() + i, 7, 0, 9, v.readableKey, v.readableOffset);
            if (c.victimDepth == 0) {
                c.by("0207c000", request);
            } else {
                c.sendPart(request);
            }
        }
    }

    /** A pointer of a marker that is wrong (RFC 5044, 4.3). */
    private static void marker(RawConnection c, byte[] segment) {
        if (!c.fpdus.hasMarkersOut() || c.fpdus.hasCrc()) {
            c.expect(End.ANY, null);
            c.cut();
            return;
        }
        c.expect(End.TERMINATED, "20030000");
        int at = -1;
        while (at < 0) {
            at = c.nextMarker(20);
            byte[] fpdu = c.fpdus.fpdu(segment);
            if (at >= 0) {
                fpdu[at + 3] = (byte) (fpdu[at + 3] + 8);
            }
            c.sendRaw(fpdu);
        }
    }

    private static int version(int flags, Random random) {
        int other = random.nextInt(3);
        return flags | (other >= 1 ? other + 1 : 0);
    }

    private static int other(Random random, int queue) {
        int[] some = {1 - queue, 2, 3, 0x8000_0000 | queue, 0x0001_0000 | queue};
        return some[random.nextInt(some.length)];
    }

    private static byte[] with(byte[] ulpdu, int index, int value) {
        byte[] copy = ulpdu.clone();
        copy[index] = (byte) value;
        return copy;
    }

    /** With a byte more. */
    private static byte[] with(byte[] bytes) {
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    private static byte[] send(int msn, int mo, byte[] payload) {
        return RawFpdus.untagged(true, 3, 0, 0, msn, mo, payload);
    }

    private static byte[] invalidate(int key, int msn, byte[] payload) {
        return RawFpdus.untagged(true, 4, key, 0, msn, 0, payload);
    }

    private static byte[] write(int key, long offset, byte[] payload) {
        return RawFpdus.tagged(true, 0, key, offset, payload);
    }
}
