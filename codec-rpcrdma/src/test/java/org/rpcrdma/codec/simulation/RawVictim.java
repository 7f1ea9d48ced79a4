// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/**
 * The honest end of a connection of {@link RawIwarpRogue}: a queue pair on the event loop of a server or client, which
 * knows what each byte of its memory has to be, and in which order its work has to end. Its event loop only.
 */
final class RawVictim implements QueuePairHandler, ListenerHandler {

    /** What a Send of the rogue asks for. */
    enum Command {
        NOTHING,
        READ,
        WRITE,
        SEND,
        MIXED,
        REVOKE_READ,
        REVOKE_WRITE,
        DISCONNECT,
        NO_RECEIVES,
        ERR;

        private static final List<Command> ALL = List.of(values());

        /** As the first byte of a message has it. */
        byte code() {
            return (byte) ALL.indexOf(this);
        }
    }

    /** One work request. */
    private record Work(long id, boolean isSignaled, int sink, int length) {}

    static final int RECEIVE = 256;
    static final int RECEIVES = 8;
    static final int WRITABLE = 2048;
    static final int READABLE = 2048;
    static final int SOURCE = 1024;
    static final long REMOTE = 1L << 40;
    static final int REMOTE_KEY = 0x7700_0001;
    static final int HEADER = 8;
    static final byte GUARD = 0x5a;
    static final byte SECRET = 0x11;

    private static final long WORK = 1L << 62;
    private static final int FOREIGN_AT = 64;
    private static final int FOREIGN = 128;
    private static final int WRITABLE_AT = 256;
    private static final int READABLE_AT = WRITABLE_AT + WRITABLE + 256;
    private static final int SOURCE_AT = READABLE_AT + READABLE + 256;
    private static final int HEADERS_AT = SOURCE_AT + SOURCE + 64;
    private static final int HEADERS = 32;
    private static final int SINKS_AT = HEADERS_AT + HEADERS * HEADER + 64;
    private static final int SINK = 320;
    private static final int SINKS = 4;
    private static final int RECEIVES_AT = SINKS_AT + SINKS * SINK + 64;
    private static final int RECEIVE_SLOT = RECEIVE + 16;
    private static final int MEMORY = RECEIVES_AT + RECEIVES * RECEIVE_SLOT + 64;
    private static final int MOST_POSTED = 16;

    /** Enough that two victims make a host use places of keys again. */
    private static final int SHORT_LIVED_KEYS = 40;

    final SimulatedHost host;
    final QueuePairConfig size;

    /** What it and its peer say when they connect. */
    final byte[] privateData;

    int writableKey;
    long writableOffset;
    int readableKey;
    long readableOffset;
    int foreignWritableKey;
    long foreignWritableOffset;
    int foreignReadableKey;
    long foreignReadableOffset;
    boolean isReadRevoked;
    boolean isWriteRevoked;

    /** Whether it was told of a connection, of a failed attempt, and of the end. */
    boolean isConnected;

    boolean hasFailed;
    boolean isOver;
    Throwable cause;

    /** When it was told of the end. */
    long overAt;

    /** How its oldest work has failed; {@code null} when none has. */
    WorkStatus firstFailure;

    WorkStatus firstReceiveFailure;

    private final SimulatedWorld world;
    private final int number;
    private final Random random;
    private final RawConnection peer;
    private final Set<Integer> keys;
    private final ByteBuf memory;
    private MemoryRegion region;
    private QueuePair queuePair;
    private QueuePair bystander;
    private Listener listener;
    private final ArrayDeque<Work> posted = new ArrayDeque<>();
    private byte[] written;
    private long nextId;

    /** Of the work request that names no memory. */
    private long wrongId = -1;

    private int nextHeader;
    private int nextSink;
    private int receivesCompleted;
    private int receivesPosted;
    private boolean postsReceives = true;
    private int sentBytes;
    private boolean isClosed;

    RawVictim(
            SimulatedWorld world,
            SimulatedHost host,
            int number,
            Random random,
            RawConnection peer,
            Set<Integer> keys) {
        this.world = world;
        this.host = host;
        this.number = number;
        this.random = random;
        this.peer = peer;
        this.keys = keys;
        size = new QueuePairConfig(HEADERS, RECEIVES, random.nextInt(5), random.nextInt(5));
        privateData = new byte[random.nextInt(40)];
        random.nextBytes(privateData);
        memory = Unpooled.directBuffer(MEMORY);
    }

    /** The bytes of a kind at a position. */
    static byte pattern(int kind, int at) {
        return (byte) (kind * 31 + at * 7 + (at >>> 8) + 3);
    }

    private void prepare() {
        byte[] guards = new byte[MEMORY];
        Arrays.fill(guards, GUARD);
        memory.setBytes(0, guards);
        for (int i = 0; i < READABLE; i++) {
            memory.setByte(READABLE_AT + i, pattern(RawConnection.READ, i));
        }
        for (int i = 0; i < SOURCE; i++) {
            memory.setByte(SOURCE_AT + i, pattern(RawConnection.SOURCE, i));
        }
        region = host.context().register(memory.nioBuffer(0, MEMORY), memory.memoryAddress());
    }

    private void exposeForeign() throws IOException {
        bystander = host.context().createQueuePair(size, this);
        foreignWritableKey =
                bystander.expose(region, at(FOREIGN_AT), FOREIGN, QueuePair.REMOTE_WRITE);
        foreignWritableOffset = bystander.exposedOffset(foreignWritableKey);
        foreignReadableKey =
                bystander.expose(region, at(FOREIGN_AT), FOREIGN, QueuePair.REMOTE_READ);
        foreignReadableOffset = bystander.exposedOffset(foreignReadableKey);
        for (int i = 0; i < SHORT_LIVED_KEYS; i++) {
            int key = bystander.expose(region, at(FOREIGN_AT), 1, QueuePair.REMOTE_READ);
            if (!keys.add(key)) {
                wrong("a key is given twice");
            }
            bystander.invalidate(key);
        }
    }

    private void take(QueuePair fresh) {
        queuePair = fresh;
        // It carries no calls.
        FaultQueuePair watched = (FaultQueuePair) fresh;
        watched.watch((length, xid, credits, procedure, covered) -> {});
        watched.watchReceives(null);
        for (int i = 0; i < RECEIVES; i++) {
            postReceive();
        }
        writableKey = fresh.expose(region, at(WRITABLE_AT), WRITABLE, QueuePair.REMOTE_WRITE);
        writableOffset = fresh.exposedOffset(writableKey);
        readableKey = fresh.expose(region, at(READABLE_AT), READABLE, QueuePair.REMOTE_READ);
        readableOffset = fresh.exposedOffset(readableKey);
    }

    private long at(int index) {
        return memory.memoryAddress() + index;
    }

    private interface Step {
        void run() throws IOException;
    }

    /** Nothing fails where nothing is refused. */
    private void attempt(Step step) {
        try {
            step.run();
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            if (!world.plan.hasLosses()) {
                wrong("cannot go on: " + e);
            }
            abandon();
        }
    }

    private void abandon() {
        hasFailed = true;
        closeQueuePair();
    }

    private void closeQueuePair() {
        if (queuePair != null) {
            queuePair.close();
            queuePair = null;
            posted.clear();
        }
    }

    // ------------------------------------------------------------------ beginning

    void listen(Runnable onListening) {
        attempt(
                () -> {
                    prepare();
                    exposeForeign();
                    listener = host.context().listen(RawIwarpRogue.address(number), 1, this);
                    onListening.run();
                });
    }

    void connect() {
        attempt(
                () -> {
                    prepare();
                    exposeForeign();
                    take(host.context().createQueuePair(size, this));
                    InetSocketAddress to = RawIwarpRogue.address(number);
                    queuePair.connect(to, null, privateData);
                });
    }

    @Override
    public void connectionRequested(ConnectionRequest request) {
        if (!Arrays.equals(request.privateData(), peer.privateData)) {
            wrong("is requested with other private data");
        }
        int millis = peer.hasSurplus() ? 400 : 0;
        if (millis == 0) {
            accept(request);
        } else {
            host.group.next().schedule(() -> accept(request), millis, TimeUnit.MILLISECONDS);
        }
    }

    private void accept(ConnectionRequest request) {
        if (isClosed) {
            request.reject(new byte[0]);
            return;
        }
        try {
            take(host.context().createQueuePair(request, size, this));
            queuePair.accept(privateData);
        } catch (IOException e) {
            // The peer has gone, or has sent something.
            hasFailed = true;
        } catch (RuntimeException | OutOfMemoryError e) {
            attempt(
                    () -> {
                        throw new IOException(e);
                    });
        }
    }

    @Override
    public void acceptFailed(Throwable failure) {
        if (!world.plan.hasLosses()) {
            wrong("accepts nobody: " + failure);
        }
    }

    @Override
    public void connected(byte[] data) {
        if (queuePair == null) {
            return;
        }
        isConnected = true;
        if (!Arrays.equals(data, peer.privateData)) {
            wrong("is connected with other private data");
        }
        if (peer.isResponder() || random.nextBoolean()) {
            attempt(this::send);
        }
    }

    @Override
    public void connectFailed(Throwable failure) {
        hasFailed = true;
        cause = failure;
    }

    // ------------------------------------------------------------------ work

    private void postReceive() {
        int slot = receivesPosted % RECEIVES;
        queuePair.postReceive(
                receivesPosted, at(RECEIVES_AT + slot * RECEIVE_SLOT), RECEIVE, region.localKey());
        receivesPosted++;
    }

    private long post(int sink, int length, boolean isSignaled) {
        long id = WORK | nextId++;
        posted.add(new Work(id, isSignaled, sink, length));
        return id;
    }

    private boolean hasRoom() {
        return posted.size() < MOST_POSTED && queuePair != null && !isOver;
    }

    /** Bytes of the source from a position, as it repeats, in pieces. */
    private void gather(int from, int length) {
        int done = 0;
        while (done < length) {
            int start = (from + done) % SOURCE;
            int most = Math.min(SOURCE - start, length - done);
            int bytes = random.nextInt(3) == 0 ? 1 + random.nextInt(most) : most;
            queuePair.gather(at(SOURCE_AT + start), bytes, region.localKey());
            done += bytes;
        }
    }

    private void send() {
        if (!hasRoom()) {
            return;
        }
        boolean isSignaled = random.nextInt(3) != 0 || posted.size() > MOST_POSTED / 2;
        boolean isFenced = random.nextInt(3) == 0;
        int from = random.nextInt(SOURCE);
        int at = HEADERS_AT + nextHeader++ % HEADERS * HEADER;
        memory.setInt(at, sentBytes);
        memory.setShort(at + 4, from);
        memory.setShort(
                at + 6, (isFenced ? 0x8000 : 0) | (isReadRevoked || isWriteRevoked ? 0x4000 : 0));
        int flags = isSignaled ? QueuePair.SIGNALED : 0;
        queuePair.send(post(-1, 0, isSignaled), isFenced ? flags | QueuePair.FENCE : flags);
        queuePair.gather(at(at), HEADER, region.localKey());
        gather(from, random.nextInt(random.nextBoolean() ? 200 : 3000));
        queuePair.doorbell();
    }

    private void write() {
        if (!hasRoom()) {
            return;
        }
        boolean isSignaled = random.nextInt(3) != 0 || posted.size() > MOST_POSTED / 2;
        int length = random.nextInt(random.nextBoolean() ? 100 : 3000);
        queuePair.write(
                post(-1, 0, isSignaled),
                isSignaled ? QueuePair.SIGNALED : 0,
                REMOTE + sentBytes,
                REMOTE_KEY);
        gather(sentBytes, length);
        sentBytes += length;
        queuePair.doorbell();
    }

    private void read(int least) {
        if (!hasRoom() || queuePair.outboundReads() == 0) {
            return;
        }
        if (posted.stream().filter(work -> work.sink() >= 0).count() == SINKS) {
            return;
        }
        int length = least + random.nextInt(SINK - 40);
        int sink = SINKS_AT + nextSink++ % SINKS * SINK;
        long id = post(sink, length, true);
        queuePair.read(id, QueuePair.SIGNALED, REMOTE + sinkPosition(id), REMOTE_KEY + 1);
        int first = length / 3;
        if (length > 3 && random.nextBoolean()) {
            // A gap of guards between two ranges.
            queuePair.gather(at(sink), first, region.localKey());
            queuePair.gather(at(sink + first + 16), length - first, region.localKey());
            posted.removeLast();
            posted.add(new Work(id, true, sink, -length));
        } else {
            queuePair.gather(at(sink), length, region.localKey());
        }
        queuePair.doorbell();
    }

    /** Names memory that is not registered. */
    private void err() {
        int wrongKey = region.localKey() ^ 0x0080_0000;
        wrongId = post(-1, 0, true);
        queuePair.send(wrongId, QueuePair.SIGNALED);
        queuePair.gather(at(SOURCE_AT), 1 + random.nextInt(SOURCE), wrongKey);
        queuePair.doorbell();
    }

    private static int sinkPosition(long id) {
        return (int) (id & 0xffff) * 512;
    }

    private void carryOut(Command command) {
        switch (command) {
            case READ -> read(2);
            case WRITE -> write();
            case SEND -> send();
            case MIXED -> {
                read(0);
                write();
                read(0);
                send();
            }
            case REVOKE_READ -> {
                queuePair.invalidate(readableKey);
                isReadRevoked = true;
                for (int i = 0; i < READABLE; i++) {
                    memory.setByte(READABLE_AT + i, SECRET);
                }
                send();
            }
            case REVOKE_WRITE -> {
                queuePair.invalidate(writableKey);
                revoked();
                send();
            }
            case DISCONNECT -> queuePair.disconnect();
            case NO_RECEIVES -> postsReceives = false;
            case ERR -> err();
            default -> {}
        }
    }

    private void revoked() {
        if (!isWriteRevoked) {
            isWriteRevoked = true;
            written = new byte[WRITABLE];
            memory.getBytes(WRITABLE_AT, written);
        }
    }

    // ------------------------------------------------------------------ completions

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        if (queuePair == null) {
            return;
        }
        if ((id & WORK) == 0) {
            attempt(() -> received(id, status, length, invalidatedKey));
        } else {
            worked(id, status);
        }
    }

    private void worked(long id, WorkStatus status) {
        while (!posted.isEmpty() && posted.peek().id() != id && !posted.peek().isSignaled()) {
            // It has succeeded before, which nobody wanted to know.
            posted.poll();
        }
        boolean isWrong = id == wrongId;
        if (isWrong != (status == WorkStatus.LOCAL_PROTECTION_ERROR) && host.context().isPrompt()) {
            wrong("work ends as " + status);
        }
        if (status != WorkStatus.SUCCESS && firstFailure == null) {
            firstFailure = status;
        }
        Work work = posted.poll();
        if (work == null || work.id() != id) {
            wrong("work completes out of order");
            return;
        }
        if (status == WorkStatus.SUCCESS) {
            if (firstFailure != null) {
                wrong("work succeeds behind work that has failed");
            }
            if (!work.isSignaled()) {
                wrong("work completes that nobody wants to know of");
            }
            if (work.sink() >= 0) {
                checkSink(work);
            }
        }
    }

    /** A Read that has succeeded has all its bytes, and no others have changed. */
    private void checkSink(Work work) {
        int length = Math.abs(work.length());
        int first = work.length() < 0 ? length / 3 : length;
        int from = sinkPosition(work.id());
        for (int i = 0, read = 0; i < SINK; i++) {
            boolean isGap = work.length() < 0 && i >= first && i < first + 16;
            boolean isRead = !isGap && read < length;
            byte expected = isRead ? pattern(RawConnection.ANSWER, from + read) : GUARD;
            if (isRead) {
                read++;
            }
            if (memory.getByte(work.sink() + i) != expected) {
                wrong("a Read has other bytes at " + i + " of " + work.length());
                return;
            }
            memory.setByte(work.sink() + i, GUARD);
        }
    }

    private void received(long id, WorkStatus status, int length, int invalidatedKey) {
        if (id != receivesCompleted++) {
            wrong("receives complete out of order");
        }
        if (status != WorkStatus.SUCCESS) {
            if (firstReceiveFailure == null) {
                firstReceiveFailure = status;
            }
            return;
        }
        if (firstReceiveFailure != null) {
            wrong("a receive succeeds behind one that has failed");
        }
        int slot = RECEIVES_AT + (int) (id % RECEIVES) * RECEIVE_SLOT;
        byte[] came = new byte[length];
        memory.getBytes(slot, came);
        checkGuard(slot + RECEIVE, slot + RECEIVE_SLOT, "a receive");
        if (!Arrays.equals(came, peer.sent((int) id))) {
            wrong("a Send has other bytes than its " + length);
            return;
        }
        int expectedKey = peer.invalidated((int) id);
        if (invalidatedKey != expectedKey) {
            wrong("a Send has invalidated another key");
        }
        if (expectedKey != 0) {
            if (queuePair.isExposed(expectedKey)) {
                wrong("a key that was invalidated is valid");
            }
            isReadRevoked |= expectedKey == readableKey;
            if (expectedKey == writableKey) {
                revoked();
            }
        }
        memory.setBytes(slot, new byte[RECEIVE]);
        if (length >= RawConnection.SEND_HEADER) {
            checkWritten(ByteBuffer.wrap(came).getInt(1));
        }
        if (isOver) {
            return;
        }
        if (length >= RawConnection.SEND_HEADER) {
            carryOut(Command.ALL.get(came[0]));
        }
        if (postsReceives && queuePair != null && !isOver) {
            postReceive();
        }
    }

    /** What was written before a Send was sent is there when it has come (RFC 5040, 5.5). */
    private void checkWritten(int before) {
        for (int i = 0; i < before; i++) {
            if (memory.getByte(WRITABLE_AT + i) != pattern(RawConnection.WRITE, i)) {
                wrong("a Send has come before the byte " + i + " that was written before it");
                return;
            }
        }
    }

    @Override
    public void disconnected(Throwable why) {
        isOver = true;
        overAt = world.network.nanoTime();
        cause = why;
        if (host.context().isPrompt()) {
            // What is posted behind an end that is held back completes behind it.
            checkAllCompleted();
        }
        checkMemory();
    }

    // ------------------------------------------------------------------ the end

    private void checkAllCompleted() {
        if (posted.stream().anyMatch(Work::isSignaled)) {
            wrong("is told of the end before that of its work");
        }
        if (receivesCompleted < receivesPosted) {
            wrong("is told of the end before that of its receives");
        }
    }

    /** No byte has changed but those that the peer may write. */
    private void checkMemory() {
        checkGuard(0, WRITABLE_AT, "before what may be written");
        checkGuard(WRITABLE_AT + WRITABLE, READABLE_AT, "behind what may be written");
        checkGuard(READABLE_AT + READABLE, SOURCE_AT, "behind what may be read");
        checkGuard(SINKS_AT - 64, SINKS_AT, "before what is read");
        checkGuard(RECEIVES_AT + RECEIVES * RECEIVE_SLOT, MEMORY, "behind the receives");
        for (int i = 0; i < WRITABLE; i++) {
            byte now = memory.getByte(WRITABLE_AT + i);
            boolean isRight =
                    now == GUARD
                            || (i < peer.writtenBytes() && now == pattern(RawConnection.WRITE, i));
            if (!isRight) {
                wrong("the byte " + i + " was written by nobody who may");
                return;
            }
            if (written != null && written[i] != now) {
                wrong("the byte " + i + " was written behind the end of its key");
                return;
            }
        }
        for (int i = 0; i < READABLE; i++) {
            byte now = memory.getByte(READABLE_AT + i);
            if (now != SECRET && now != pattern(RawConnection.READ, i)) {
                wrong("a byte was written that may be read");
                return;
            }
        }
        for (int i = 0; i < SOURCE; i++) {
            if (memory.getByte(SOURCE_AT + i) != pattern(RawConnection.SOURCE, i)) {
                wrong("a byte of nobody else's was written");
                return;
            }
        }
    }

    private void checkGuard(int from, int to, String what) {
        for (int i = from; i < to; i++) {
            if (memory.getByte(i) != GUARD) {
                wrong("a byte has changed " + what);
                return;
            }
        }
    }

    /** Gives everything back. */
    void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        if (region != null) {
            checkMemory();
        }
        closeQueuePair();
        if (bystander != null) {
            bystander.close();
        }
        if (listener != null) {
            listener.close();
        }
        if (region != null) {
            region.deregister();
        }
        memory.release();
    }

    private void wrong(String what) {
        world.wrong("victim " + number + " of " + peer + ": " + what);
    }
}
