// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * One connection of {@link RawIwarpRogue}: the start-up, some messages by the rules, and then a {@link RawAttack}. It
 * checks each byte that the victim sends. The thread of the rogue only, but for what is said of the victim's.
 */
final class RawConnection {

    /** Kinds of patterns. */
    static final int READ = 1;

    static final int WRITE = 2;
    static final int SEND = 3;
    static final int SOURCE = 4;
    static final int ANSWER = 5;

    static final int SEND_HEADER = 8;

    private static final int MOST_PENDING = 6000;
    private static final int MOST_MESSAGES = 8;
    private static final byte[] NOTHING = {};

    /** Longer than the victim may keep a connection that has ended, or half an FPDU. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(25);

    /** A Read Request of one end that is not answered. */
    private record OpenRead(int stag, long offset, int size, int position) {}

    final byte[] privateData;
    final Random random;
    final RawStartup startup;
    RawVictim victim;
    private final SimulatedWorld world;
    private final int number;
    private final RawAttack attack;
    private SocketChannel socket;
    private SelectionKey key;
    private final ByteArrayOutputStream pending = new ByteArrayOutputStream();
    private byte[] sending = NOTHING;
    private int sendingAt;
    private final ByteBuffer received = ByteBuffer.allocate(8192);

    RawFpdus fpdus;
    int inboundReads;
    int outboundReads;

    /** Reads that the victim has room for. */
    int victimDepth;

    private int messages;
    private boolean hasAttacked;
    private boolean isStopped;
    private boolean isEnded;
    private boolean wasReset;
    private boolean isOver;
    private long deadline = Long.MAX_VALUE;
    private boolean isLingering;
    private long lastSent;
    private long endedAt;

    /** What was sent: Sends, the keys that they invalidate, and bytes of the range that may be written. */
    private final List<byte[]> sends = new ArrayList<>();

    private final List<Integer> invalidations = new ArrayList<>();
    private int written;
    private int nextMessage = 1;
    private int nextReadMessage = 1;
    private int nextSink = 0x5500_0000;
    private final ArrayDeque<OpenRead> reads = new ArrayDeque<>();
    private int responded;

    /** What has come. */
    private int expectedMessage = 1;

    private final ByteArrayOutputStream openSend = new ByteArrayOutputStream();
    private int expectedReadMessage = 1;
    private int writtenByVictim;
    private final ArrayDeque<OpenRead> toAnswer = new ArrayDeque<>();
    private boolean mayVictimSend;
    private String terminate;
    private byte[] bad;
    private boolean hasInvalidated;
    private RawAttack.End expected;
    private String expectedTerminate;
    private boolean mustEndOutput;
    private boolean isReadyToReceiveExpected;
    private boolean hasHeard;
    private boolean isReadWanted;
    private int lingered;
    private boolean mayEndEarly;

    /** Nothing is read before. */
    private long readsFrom;

    /** Sent when the victim has said that it has taken a key back. */
    private String controlWhenRevoked;

    private byte[] whenRevoked;

    RawConnection(SimulatedWorld world, int number, RawAttack attack, boolean responds, long seed) {
        this.world = world;
        this.number = number;
        this.attack = attack;
        random = new Random(seed);
        privateData = new byte[random.nextInt(40)];
        random.nextBytes(privateData);
        messages = random.nextInt(MOST_MESSAGES);
        startup = new RawStartup(this, responds);
    }

    RawAttack attack() {
        return attack;
    }

    boolean isResponder() {
        return startup.isResponder();
    }

    /** Of the victim's thread: whether it sends something behind its Request, before the Reply. */
    boolean hasSurplus() {
        return attack == RawAttack.SURPLUS;
    }

    // ------------------------------------------------------------------ of the victim's thread too

    byte[] sent(int send) {
        return send < sends.size() ? sends.get(send) : null;
    }

    int invalidated(int send) {
        return send < sends.size() ? invalidations.get(send) : 0;
    }

    int writtenBytes() {
        return written;
    }

    boolean isOver() {
        return isOver;
    }

    /** The control field of the Terminate that has come, in hex; {@code null} for none. */
    String terminate() {
        return terminate;
    }

    /** Whether a Read was under way when its key ended. */
    boolean mayEndEarly() {
        return mayEndEarly;
    }

    boolean wasReset() {
        return wasReset;
    }

    boolean hasAttacked() {
        return hasAttacked;
    }

    long lastSent() {
        return lastSent;
    }

    /** From the last byte that was sent, or the TCP connection where none was, to the end. */
    long nanosToTheEnd() {
        return endedAt - lastSent;
    }

    // ------------------------------------------------------------------ socket

    void on(SocketChannel connecting, SelectionKey registered) {
        socket = connecting;
        key = registered;
        key.attach(this);
        lastSent = world.network.nanoTime();
        deadline = world.network.nanoTime() + PATIENCE_NANOS;
    }

    void ready() {
        try {
            if (socket.isConnectionPending()) {
                if (!socket.finishConnect()) {
                    return;
                }
                startup.connected();
            }
            receive();
            flush();
        } catch (IOException e) {
            ends(true);
        }
    }

    private void receive() throws IOException {
        while (!isEnded && world.network.nanoTime() >= readsFrom) {
            int read = socket.read(received.clear());
            if (read < 0) {
                ends(false);
            }
            if (read <= 0) {
                return;
            }
            received.flip();
            while (received.hasRemaining() && !isEnded) {
                byte next = received.get();
                if (fpdus == null) {
                    startup.arrives(next);
                } else {
                    if (!mayVictimSend) {
                        wrong("a responder sends before its peer does (RFC 5044, 7.1.2)");
                        mayVictimSend = true;
                    }
                    fpdus.arrives(next);
                }
            }
            proceed();
        }
    }

    void send(byte[] bytes) {
        if (!isStopped) {
            pending.writeBytes(bytes);
        }
    }

    private void sendUlpdu(byte[] ulpdu) {
        mayVictimSend = true;
        send(fpdus.fpdu(ulpdu));
    }

    private void flush() throws IOException {
        while (!isOver) {
            if (sendingAt == sending.length) {
                if (pending.size() == 0) {
                    break;
                }
                sending = pending.toByteArray();
                sendingAt = 0;
                pending.reset();
            }
            ByteBuffer out = ByteBuffer.wrap(sending, sendingAt, sending.length - sendingAt);
            int bytes = socket.write(out);
            if (bytes == 0) {
                break;
            }
            lastSent = world.network.nanoTime();
            sendingAt += bytes;
        }
        if (isOver || !key.isValid()) {
            return;
        }
        boolean wants = sendingAt < sending.length || pending.size() > 0;
        boolean isLast = mustEndOutput || (hasAttacked && attack.isEndOfOutput());
        if (!wants && isLast && !isStopped) {
            isStopped = true;
            socket.shutdownOutput();
        }
        boolean reads = !isEnded && world.network.nanoTime() >= readsFrom;
        key.interestOps((reads ? SelectionKey.OP_READ : 0) | (wants ? SelectionKey.OP_WRITE : 0));
    }

    /** The victim has ended the connection. */
    private void ends(boolean asReset) {
        if (isOver || isEnded) {
            close();
            return;
        }
        isEnded = true;
        wasReset = asReset;
        endedAt = world.network.nanoTime();
        boolean isKept = expected == RawAttack.End.LEFT || random.nextInt(4) == 0;
        if (asReset || !isKept || !isStrict()) {
            close();
            return;
        }
        // It may not keep its end for ever, although this one is not closed.
        isLingering = true;
        deadline = endedAt + LINGER_NANOS;
        key.interestOps(0);
    }

    private void close() {
        isOver = true;
        try {
            socket.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Milliseconds until something is due. */
    long tick() {
        if (isOver || deadline == Long.MAX_VALUE) {
            return Long.MAX_VALUE;
        }
        long now = world.network.nanoTime();
        if (readsFrom > 0 && readsFrom <= now) {
            readsFrom = 0;
            ready();
        }
        long left = Math.min(deadline, readsFrom == 0 ? Long.MAX_VALUE : readsFrom) - now;
        if (left > 0) {
            return TimeUnit.NANOSECONDS.toMillis(left) + 1;
        }
        if (isLingering && !isGone()) {
            // The next look finds the reset that this byte is answered with.
            deadline = world.network.nanoTime() + TimeUnit.SECONDS.toNanos(1);
            return TimeUnit.SECONDS.toMillis(1);
        }
        if (!isEnded) {
            if (isStrict() && readsFrom != Long.MAX_VALUE) {
                wrong("is not given up within a minute");
            }
            endedAt = world.network.nanoTime();
        }
        close();
        return Long.MAX_VALUE;
    }

    private boolean isGone() {
        try {
            socket.write(ByteBuffer.allocate(1));
        } catch (IOException e) {
            return true;
        }
        if (lingered++ == 3) {
            wrong("a connection that has ended is kept");
            return true;
        }
        return false;
    }

    /** Whether nothing delays or disturbs the connection. */
    boolean isStrict() {
        return world.plan.isCalm();
    }

    // ------------------------------------------------------------------ what is sent

    /** What comes from now on is a Terminate that says what is wrong with a start-up. */
    void opens(RawFpdus framing) {
        fpdus = framing;
        mayVictimSend = true;
        hasAttacked = true;
    }

    /** How the connection has to end, and the control field of the Terminate; {@code null} for none. */
    void expect(RawAttack.End how, String control) {
        expected = how;
        expectedTerminate = control;
    }

    RawAttack.End expected() {
        return expected;
    }

    String expectedTerminate() {
        return expectedTerminate;
    }

    /** Sends nothing behind what was sent. */
    void endOutput() {
        mustEndOutput = true;
    }

    /** The start-up is over. */
    void opened(RawFpdus framing, int ird, int ord, int depth, int readyToReceive) {
        fpdus = framing;
        victimDepth = depth;
        inboundReads = ird;
        outboundReads = ord;
        mayVictimSend = isResponder();
        switch (readyToReceive) {
            case 0 -> sendUlpdu(RawFpdus.untagged(true, 3, 0, 0, nextMessage++, 0, NOTHING));
            case 1 -> sendUlpdu(RawFpdus.tagged(true, 0, 1, 0, NOTHING));
            case 2 -> {
                reads.add(new OpenRead(nextSink, 0, 0, 0));
                sendUlpdu(RawFpdus.readRequest(nextReadMessage++, nextSink++, 0, 0, 1, 0));
            }
            default -> {}
        }
        deadline = world.network.nanoTime() + PATIENCE_NANOS;
        if (!isResponder()) {
            proceed();
        }
    }

    /** A zero-length Send of the victim that makes it ready to receive has come or will come. */
    void expectReadyToReceive() {
        isReadyToReceiveExpected = true;
    }

    /** Goes on as far as it may. */
    private void proceed() {
        if (fpdus == null || hasAttacked || isEnded || (isResponder() && !hasHeard)) {
            return;
        }
        while (messages > 0 && pending.size() < MOST_PENDING) {
            messages--;
            behave();
        }
        if (messages > 0 || !reads.isEmpty()) {
            return;
        }
        if (attack.needsRead() && inboundReads > 0 && victim.size.outboundReads() > 0) {
            if (!isReadWanted) {
                isReadWanted = true;
                sendMessage(RawVictim.Command.READ, 0);
            }
            if (toAnswer.isEmpty()) {
                return;
            }
        }
        attackNow();
    }

    private void attackNow() {
        hasAttacked = true;
        world.network.note(this + " begins");
        attack.begin(this);
        if (whenRevoked == null) {
            goOn();
        }
        deadline = world.network.nanoTime() + PATIENCE_NANOS;
    }

    /** What comes behind the error counts no more. */
    private void goOn() {
        if (!attack.goesOn()) {
            return;
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            byte[] late = new byte[random.nextInt(200)];
            send(fpdus.fpdu(RawFpdus.untagged(true, 3, 0, 0, nextMessage++, 0, late)));
            long to = victim.writableOffset + written;
            byte[] one = new byte[Math.min(1, RawVictim.WRITABLE - written)];
            send(fpdus.fpdu(RawFpdus.tagged(true, 0, victim.writableKey, to, one)));
        }
    }

    private void behave() {
        switch (random.nextInt(5)) {
            case 0, 1 -> write();
            case 2 -> read();
            default -> {
                RawVictim.Command[] all = RawVictim.Command.values();
                int most = isUsual(attack) ? 5 : 7;
                sendMessage(all[random.nextInt(most)], random.nextInt(4) == 0 ? 1 : 0);
            }
        }
    }

    /** An attack by the keys wants them to be valid. */
    private static boolean isUsual(RawAttack attack) {
        return attack.needsKeys();
    }

    private byte[] bytes(int kind, int from, int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = RawVictim.pattern(kind, from + i);
        }
        return bytes;
    }

    private void write() {
        if (hasInvalidated) {
            return;
        }
        int length = random.nextInt(Math.min(400, RawVictim.WRITABLE / 2 - written / 2) + 1);
        int done = 0;
        do {
            int bytes = random.nextBoolean() ? length - done : random.nextInt(length - done + 1);
            boolean last = done + bytes == length && random.nextInt(4) != 0;
            byte[] payload = bytes(WRITE, written, bytes);
            long to = victim.writableOffset + written;
            written += bytes;
            done += bytes;
            sendUlpdu(RawFpdus.tagged(last, 0, victim.writableKey, to, payload));
            if (last) {
                return;
            }
        } while (true);
    }

    private void read() {
        if (hasInvalidated || reads.size() >= outboundReads) {
            return;
        }
        int position = random.nextInt(RawVictim.READABLE);
        int size = random.nextInt(RawVictim.READABLE - position + 1);
        long to = random.nextLong();
        OpenRead read = new OpenRead(nextSink++, to, size, position);
        reads.add(read);
        sendUlpdu(
                RawFpdus.readRequest(
                        nextReadMessage++,
                        read.stag(),
                        to,
                        size,
                        victim.readableKey,
                        victim.readableOffset + position));
    }

    /** Sends a message in segments of any lengths, which may invalidate a key. */
    void sendMessage(RawVictim.Command command, int invalidates) {
        boolean isEmpty = command == RawVictim.Command.NOTHING && random.nextInt(3) == 0;
        int length =
                isEmpty ? 0 : SEND_HEADER + random.nextInt(RawVictim.RECEIVE - SEND_HEADER + 1);
        byte[] message = bytes(SEND, sends.size(), length);
        if (length > 0) {
            ByteBuffer.wrap(message).put(command.code()).putInt(written);
        }
        boolean isInvalidating = invalidates > 0 && !hasInvalidated && !isUsual(attack);
        int stag = isInvalidating ? victim.readableKey : 0;
        if (isInvalidating && random.nextBoolean()) {
            stag = victim.writableKey;
        }
        if (command == RawVictim.Command.REVOKE_READ && !reads.isEmpty() && random.nextBoolean()) {
            readLater(LATE_NANOS);
        }
        mayEndEarly |=
                !reads.isEmpty()
                        && (command == RawVictim.Command.REVOKE_READ
                                || (isInvalidating && stag == victim.readableKey));
        hasInvalidated |=
                isInvalidating
                        || command == RawVictim.Command.REVOKE_READ
                        || command == RawVictim.Command.REVOKE_WRITE;
        int opcode = (isInvalidating ? 4 : 3) + (random.nextInt(4) == 0 ? 2 : 0);
        sends.add(message);
        invalidations.add(stag);
        int done = 0;
        boolean last;
        do {
            int bytes = random.nextInt(3) != 0 ? length - done : random.nextInt(length - done + 1);
            last = done + bytes == length;
            byte[] payload = Arrays.copyOfRange(message, done, done + bytes);
            sendUlpdu(RawFpdus.untagged(last, opcode, stag, 0, nextMessage, done, payload));
            done += bytes;
        } while (!last);
        nextMessage++;
    }

    // ------------------------------------------------------------------ of attacks

    int nextMessage() {
        return nextMessage;
    }

    int nextReadMessage() {
        return nextReadMessage;
    }

    /** The oldest Read of the victim that is not answered: its sink, offset and size; {@code null} for none. */
    long[] oldestRead() {
        OpenRead read = toAnswer.peek();
        return read == null ? null : new long[] {read.stag(), read.offset(), read.size()};
    }

    /** Bytes of the answer to the oldest Read of the victim. */
    byte[] answer(int from, int count) {
        OpenRead read = toAnswer.peek();
        return bytes(ANSWER, read == null ? 0 : read.position() + from, count);
    }

    /** Sends a ULPDU that breaks a rule. */
    void attackBy(byte[] ulpdu) {
        bad = ulpdu;
        sendUlpdu(ulpdu);
    }

    /** The same, and says how the connection has to end. */
    void by(String control, byte[] ulpdu) {
        expect(RawAttack.End.TERMINATED, control);
        attackBy(ulpdu);
    }

    /** The same, once the victim has taken a key back. */
    void whenRevoked(String control, byte[] ulpdu) {
        expect(RawAttack.End.ANY, null);
        controlWhenRevoked = control;
        whenRevoked = ulpdu;
    }

    /** Where the marker of the next FPDU of some length stands; negative for nowhere. */
    int nextMarker(int length) {
        return fpdus.nextMarker(length);
    }

    /** Sends one by the rules, which is a part of an attack. */
    void sendPart(byte[] ulpdu) {
        sendUlpdu(ulpdu);
    }

    /** Sends bytes that are no FPDU. */
    void sendRaw(byte[] bytes) {
        mayVictimSend = true;
        send(bytes);
    }

    /** Reads nothing for a time. */
    void readLater(long nanos) {
        readsFrom = nanos == Long.MAX_VALUE ? nanos : world.network.nanoTime() + nanos;
    }

    /** Sends nothing any more. */
    void stop() {
        isStopped = true;
    }

    /** Resets the connection, or ends it, at once. */
    void cut() {
        try {
            flush();
        } catch (IOException e) {
            // It has ended.
        }
        endedAt = world.network.nanoTime();
        isEnded = true;
        close();
    }

    // ------------------------------------------------------------------ what comes

    /** A ULPDU has come. */
    void arrives(byte[] ulpdu) {
        if (terminate != null) {
            wrong("something comes behind a Terminate");
            return;
        }
        ByteBuffer in = ByteBuffer.wrap(ulpdu);
        int control = in.get();
        int opcode = in.get() & 0xff;
        boolean isTagged = control < 0;
        boolean isLast = (control & 0x40) != 0;
        if ((control & 0x3f) != 1 || opcode >>> 4 != 4) {
            wrong("a segment has control bytes " + control + " and " + opcode);
            return;
        }
        hasHeard = true;
        if (isTagged) {
            int stag = in.getInt();
            long offset = in.getLong();
            byte[] payload = Arrays.copyOfRange(ulpdu, RawFpdus.TAGGED, ulpdu.length);
            if ((opcode & 15) == 0) {
                writeArrives(stag, offset, payload);
            } else {
                responseArrives(stag, offset, payload, isLast);
            }
            return;
        }
        int word = in.getInt();
        int queue = in.getInt();
        int msn = in.getInt();
        int mo = in.getInt();
        byte[] payload = Arrays.copyOfRange(ulpdu, RawFpdus.UNTAGGED, ulpdu.length);
        switch (opcode & 15) {
            case 1 -> readArrives(queue, msn, payload);
            case 7 -> terminateArrives(queue, msn, payload);
            default -> sendArrives(opcode & 15, word, queue, msn, mo, payload, isLast);
        }
    }

    private void writeArrives(int stag, long offset, byte[] payload) {
        if (payload.length == 0) {
            return;
        }
        boolean isRight =
                stag == RawVictim.REMOTE_KEY && offset == RawVictim.REMOTE + writtenByVictim;
        for (int i = 0; isRight && i < payload.length; i++) {
            isRight =
                    payload[i]
                            == RawVictim.pattern(SOURCE, (writtenByVictim + i) % RawVictim.SOURCE);
        }
        if (!isRight) {
            wrong("a Write has another place or other bytes");
        }
        writtenByVictim += payload.length;
    }

    private void responseArrives(int stag, long offset, byte[] payload, boolean isLast) {
        OpenRead read = reads.peek();
        if (read == null) {
            if (!attack.mayRead()) {
                wrong("a Read Response comes to no Read");
            }
            return;
        }
        boolean isRight =
                stag == read.stag()
                        && offset == read.offset() + responded
                        && isLast == (responded + payload.length == read.size());
        if (!isRight) {
            wrong("a Read Response is out of place");
        }
        for (int i = 0; i < payload.length; i++) {
            if (payload[i] != RawVictim.pattern(READ, read.position() + responded + i)) {
                wrong("a Read has found what it may not read");
                break;
            }
        }
        responded += payload.length;
        if (isLast) {
            reads.poll();
            responded = 0;
        }
    }

    private void readArrives(int queue, int msn, byte[] payload) {
        if (queue != 1 || msn != expectedReadMessage++ || payload.length != 28) {
            wrong("a Read Request is out of place");
            return;
        }
        ByteBuffer in = ByteBuffer.wrap(payload);
        int sink = in.getInt();
        long to = in.getLong();
        int size = in.getInt();
        in.getInt();
        int position = (int) (in.getLong() - RawVictim.REMOTE);
        toAnswer.add(new OpenRead(sink, to, size, size == 0 ? 0 : position));
        if (toAnswer.size() > Math.max(inboundReads, 1)) {
            wrong("more Reads come than were agreed on");
        }
        boolean isAwaited = whenRevoked != null || attack == RawAttack.VICTIM_ERRS;
        if ((hasAttacked && !isAwaited) || (isReadWanted && size > 0)) {
            return;
        }
        answer();
    }

    private void answer() {
        OpenRead read = toAnswer.poll();
        int done = 0;
        boolean last;
        do {
            int left = read.size() - done;
            int bytes = random.nextInt(3) != 0 ? left : random.nextInt(left + 1);
            last = done + bytes == read.size();
            byte[] payload = bytes(ANSWER, read.position() + done, bytes);
            sendUlpdu(RawFpdus.tagged(last, 2, read.stag(), read.offset() + done, payload));
            done += bytes;
        } while (!last);
    }

    private void sendArrives(
            int opcode, int word, int queue, int msn, int mo, byte[] payload, boolean isLast) {
        if (queue != 0 || msn != expectedMessage || mo != openSend.size() || opcode != 3) {
            wrong("a Send is out of place");
            return;
        }
        openSend.writeBytes(payload);
        if (!isLast) {
            return;
        }
        expectedMessage++;
        byte[] message = openSend.toByteArray();
        openSend.reset();
        if (message.length == 0) {
            if (!isReadyToReceiveExpected || word != 0) {
                wrong("an empty Send comes that nobody has sent");
            }
            isReadyToReceiveExpected = false;
            return;
        }
        ByteBuffer in = ByteBuffer.wrap(message);
        int before = in.getInt();
        int from = in.getShort();
        int fence = in.getShort();
        if (before != writtenByVictim) {
            wrong("a Send comes behind " + writtenByVictim + " written bytes, not " + before);
        }
        if ((fence & 0x4000) != 0 && whenRevoked != null) {
            by(controlWhenRevoked, whenRevoked);
            whenRevoked = null;
            goOn();
        }
        if (fence < 0 && !toAnswer.isEmpty()) {
            wrong("a Send with a fence comes before the answers to Reads");
        }
        for (int i = RawVictim.HEADER; i < message.length; i++) {
            int at = (from + i - RawVictim.HEADER) % RawVictim.SOURCE;
            if (message[i] != RawVictim.pattern(SOURCE, at)) {
                wrong("a Send has other bytes");
                return;
            }
        }
    }

    private void terminateArrives(int queue, int msn, byte[] payload) {
        ByteBuffer in = ByteBuffer.wrap(payload);
        terminate = String.format("%08x", in.getInt());
        if (queue != 2 || msn != 1) {
            wrong("a Terminate is out of place");
        }
        boolean hasHeader = (payload[2] & 0x40) != 0;
        if (!hasHeader || bad == null || attack == RawAttack.NO_RECEIVE) {
            return;
        }
        int header = (bad[0] & 0x80) != 0 ? RawFpdus.TAGGED : RawFpdus.UNTAGGED;
        int echoed = header + ((payload[2] & 0x20) != 0 ? RawFpdus.READ_REQUEST : 0);
        byte[] expected =
                ByteBuffer.allocate(2 + echoed)
                        .putShort((short) bad.length)
                        .put(bad, 0, echoed)
                        .array();
        if (!Arrays.equals(expected, Arrays.copyOfRange(payload, 4, payload.length))) {
            wrong("a Terminate has another header than that of the segment");
        }
    }

    /** What comes is no FPDU: where bits are damaged on the way, that ends the connection (RFC 5044, 8). */
    void isNoFpdu(String what) {
        if (world.plan.has(SimulationAction.Kind.DAMAGE)) {
            cut();
        } else {
            wrong(what);
        }
    }

    void wrong(String what) {
        world.wrong(this + ": " + what);
    }

    @Override
    public String toString() {
        return "raw connection " + number + " for " + attack;
    }
}
