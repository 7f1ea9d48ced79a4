// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.rpcrdma.stream.PeerReceiveBufferTable;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/** One connection of {@link RogueStreams}: it may behave for a while before it does not. Its thread only. */
final class RogueStream implements QueuePairHandler {

    static final QueuePairConfig SIZE = new QueuePairConfig(512, 512, 1, 1);

    private static final int CREDITS = 16;
    private static final int TABLE_ENTRIES = 4;
    private static final int BUFFER = 8 << 10;
    private static final int RECEIVES = 400;
    private static final long SENT = -1;
    private static final int LONGEST = 700;

    /** Parts of the memory: the table of this end, its buffer, receives, and what is sent. */
    private static final int BUFFER_AT = 1024;

    private static final int RECEIVES_AT = BUFFER_AT + BUFFER;
    private static final int SENT_AT = RECEIVES_AT + RECEIVES * RsocketMessage.BYTES;
    private static final int SLOT = 1024;
    private static final int SLOTS = 64;

    /** Of one connection. */
    static final int MEMORY = SENT_AT + SLOT * SLOTS;

    private final RogueStreams host;
    private final RogueStreams.Personality personality;
    private final Random random;
    private final ByteBuf memory;
    private final int localKey;
    private QueuePair queuePair;
    private StreamPrivateData peer;
    private byte[] requestData;
    private int port;
    private int bufferKey;
    private int nextReceive;
    private int nextSlot;

    /** The buffer of the peer that is written to, and how many of its bytes were announced. */
    private ReceiveBufferAddress target;

    private int used;

    /** Of a buffer that was full, and is another one's since; 0 for none. */
    private int fullKey;

    private int nextEntry = 1;
    private int messages;
    private int limit;
    private int received;
    private long announced;

    /** What it was to do before there was a connection. */
    private int early;

    private boolean hasEnded;
    private boolean mustEnd;
    private boolean mustTell;
    private boolean isOver;
    private boolean hasSilentBytes;

    RogueStream(RogueStreams host, ByteBuf memory, int localKey, Random random) {
        this.host = host;
        this.personality = host.personality();
        this.random = random;
        this.memory = memory;
        this.localKey = localKey;
    }

    // ------------------------------------------------------------------ connecting

    /** What this end announces, right or wrong. */
    byte[] prepare(QueuePair fresh, int peerPort) {
        queuePair = fresh;
        port = peerPort;
        for (int i = 0; i < RECEIVES; i++) {
            postReceive();
        }
        long base = memory.memoryAddress();
        int tableKey =
                fresh.expose(
                        host.region(),
                        base,
                        TABLE_ENTRIES * ReceiveBufferAddress.BYTES,
                        QueuePair.REMOTE_WRITE);
        bufferKey = fresh.expose(host.region(), base + BUFFER_AT, BUFFER, QueuePair.REMOTE_WRITE);
        int first = 1 + random.nextInt(BUFFER);
        byte[] data =
                new StreamPrivateData(
                                CREDITS,
                                fresh.exposedOffset(tableKey),
                                tableKey,
                                TABLE_ENTRIES,
                                new ReceiveBufferAddress(
                                        fresh.exposedOffset(bufferKey), bufferKey, first))
                        .encode();
        if (personality == RogueStreams.Personality.PRIVATE_DATA) {
            return spoiled(data);
        }
        return data;
    }

    private byte[] spoiled(byte[] data) {
        // Offsets and keys differ between two runs of a seed, and the refusal prints what was
        // received.
        Arrays.fill(data, 8, 20, (byte) 0);
        Arrays.fill(data, 24, 36, (byte) 0);
        switch (random.nextInt(4)) {
            case 0 -> {
                byte[] cut = new byte[random.nextInt(data.length)];
                System.arraycopy(data, 0, cut, 0, cut.length);
                return cut;
            }
            case 1 -> data[0] = (byte) (2 + random.nextInt(250));
            case 2 -> {
                data[2] = 0;
                data[3] = 0;
            }
            default -> data[23] = (byte) random.nextInt(PeerReceiveBufferTable.ENTRIES);
        }
        return data;
    }

    private void postReceive() {
        int slot = nextReceive++ % RECEIVES;
        queuePair.postReceive(
                slot,
                memory.memoryAddress() + RECEIVES_AT + (long) slot * RsocketMessage.BYTES,
                RsocketMessage.BYTES,
                localKey);
    }

    /** The private data of a request, which {@link #connected} may not tell again. */
    void requested(byte[] privateData) {
        requestData = privateData;
    }

    @Override
    public void connected(byte[] privateData) {
        boolean isClient = requestData == null;
        try {
            peer = StreamPrivateData.decode(isClient ? privateData : requestData, false);
        } catch (StreamProtocolException e) {
            host.wrong("an honest end announces what is none: " + e.getMessage());
            return;
        }
        if (personality == RogueStreams.Personality.PRIVATE_DATA && isClient) {
            host.wrong("is let in with private data that are none");
        }
        target = peer.buffer();
        limit = peer.credits();
        host.remember(target.key());
        host.remember(peer.tableKey());
        host.submit(() -> host.misbehave(this, early));
    }

    @Override
    public void connectFailed(Throwable cause) {
        hasEnded = true;
        host.note("is not let in: " + cause.getClass().getSimpleName());
    }

    // ------------------------------------------------------------------ misdeeds

    /** Whether it is, or may become, of use. */
    boolean isOpen() {
        return !hasEnded && !mustEnd && !isOver;
    }

    boolean isUsable() {
        return peer != null && isOpen();
    }

    /** Does something right, or what its personality does. */
    void act() {
        if (peer == null) {
            early++;
        }
        if (!isUsable()) {
            return;
        }
        takeNextBuffer();
        // A buffer that is full has lost its key.
        boolean fills = personality == RogueStreams.Personality.KEYS && fullKey == 0;
        for (int i = fills ? CREDITS : random.nextInt(4); i > 0; i--) {
            sendRight(fills ? SLOT : 1 + random.nextInt(LONGEST));
        }
        if (fills || random.nextInt(3) == 0) {
            return;
        }
        host.note("acts");
        switch (personality) {
            case CREDITS -> {
                if (random.nextBoolean()) {
                    mustEnd(true);
                    send(RsocketMessage.sgl(0x4000 + random.nextInt(0x4000)));
                } else {
                    flood();
                }
            }
            case PLACES -> places();
            case UNANNOUNCED -> {
                if (target.length() > used) {
                    hasSilentBytes = true;
                    write(target.offset() + used, target.key(), (int) (target.length() - used));
                }
            }
            case MESSAGES -> messages();
            case ENDS -> ends();
            case KEYS -> {
                mustEnd(true);
                int key = wrongKey();
                host.note(key == fullKey ? "writes into a full buffer" : "writes by a wrong key");
                write(target.offset(), key, 1 + random.nextInt(8));
            }
            case TABLES -> publishWrong();
            case PRIVATE_DATA -> {}
        }
    }

    private void mustEnd(boolean tellsWhy) {
        mustEnd = true;
        mustTell = tellsWhy;
    }

    /** Messages without credits: some may come in time. */
    private void flood() {
        for (int i = 0; i < 3 * CREDITS; i++) {
            open(1);
        }
        announced += 3 * CREDITS;
        isOver = true;
        queuePair.doorbell();
    }

    private void places() {
        mustEnd(true);
        switch (random.nextInt(6)) {
            case 0 -> write(target.offset() + target.length() - 1, target.key(), 2);
            case 1 -> write(target.offset() - 1, target.key(), 2);
            case 2 -> write(peer.tableOffset() + PeerReceiveBufferTable.BYTES, peer.tableKey(), 1);
            case 3 ->
                    send(
                            used == target.length()
                                    ? RsocketMessage.MAX_DATA
                                    : (int) target.length() - used + 1);
            case 4 -> send(RsocketMessage.MAX_DATA);
            default -> write(target.offset() + random.nextLong(), target.key(), 16);
        }
    }

    private void messages() {
        mustEnd(true);
        switch (random.nextInt(4)) {
            case 0 -> send(((random.nextInt(3) * 2 + 1) << 29) | random.nextInt(100));
            case 1 -> send(0);
            case 2 -> sendLength(random.nextInt(RsocketMessage.BYTES));
            default -> sendLength(RsocketMessage.BYTES + 1 + random.nextInt(60));
        }
    }

    private void ends() {
        switch (random.nextInt(4)) {
            case 0 -> {
                send(RsocketMessage.SHUTDOWN);
                send(RsocketMessage.SHUTDOWN);
                isOver = true;
            }
            case 1 -> {
                mustEnd(true);
                send(RsocketMessage.SHUTDOWN);
                send(1);
            }
            case 2 -> {
                mustEnd(false);
                send(RsocketMessage.DISCONNECT);
                send(1);
                send(RsocketMessage.DISCONNECT);
            }
            default -> {
                isOver = true;
                queuePair.disconnect();
            }
        }
    }

    /** One that this connection was not given, or has been taken from it. */
    private int wrongKey() {
        if (fullKey != 0 && random.nextBoolean()) {
            return fullKey;
        }
        List<Integer> known = new ArrayList<>(host.keys());
        known.removeIf(key -> key == target.key() || key == peer.tableKey());
        int near = target.key() + random.nextInt(9) - 4;
        return known.isEmpty() || random.nextInt(3) == 0
                ? near == target.key() || near == peer.tableKey() ? ~target.key() : near
                : known.get(random.nextInt(known.size()));
    }

    /** Whatever the peer writes there costs this end its connection, and nobody else anything. */
    private void publishWrong() {
        int at = slot();
        int key = random.nextBoolean() ? bufferKey : random.nextInt();
        int length = random.nextBoolean() ? -1 : random.nextInt(4 * BUFFER);
        ReceiveBufferAddress.put(memory, at, random.nextInt(), key, length);
        long entry = peer.tableOffset() + (long) random.nextInt(2) * ReceiveBufferAddress.BYTES;
        queuePair.write(SENT, 0, entry, peer.tableKey());
        queuePair.gather(memory.memoryAddress() + at, ReceiveBufferAddress.BYTES, localKey);
        send(RsocketMessage.sgl(CREDITS));
    }

    // ------------------------------------------------------------------ what is right

    private void sendRight(int most) {
        int length = (int) Math.min(most, target.length() - used);
        if (length == 0 || ((limit - messages) & 0xffff) == 0 || hasSilentBytes) {
            return;
        }
        write(target.offset() + used, target.key(), length);
        send(RsocketMessage.data(length));
        used += length;
        announced += length;
    }

    private void takeNextBuffer() {
        int at = nextEntry * ReceiveBufferAddress.BYTES;
        int length = memory.getIntLE(at + 12);
        if (target.length() == used && length != 0) {
            fullKey = target.key();
            target =
                    new ReceiveBufferAddress(memory.getLongLE(at), memory.getIntLE(at + 8), length);
            memory.setIntLE(at + 12, 0);
            nextEntry = (nextEntry + 1) % TABLE_ENTRIES;
            used = 0;
            host.remember(target.key());
        }
    }

    private int slot() {
        nextSlot = (nextSlot + 1) % SLOTS;
        return SENT_AT + nextSlot * SLOT;
    }

    private void write(long offset, int key, int length) {
        queuePair.write(SENT, 0, offset, key);
        queuePair.gather(memory.memoryAddress() + slot(), Math.min(length, SLOT), localKey);
        queuePair.doorbell();
    }

    private void open(int message) {
        int at = slot();
        memory.setIntLE(at, message);
        queuePair.send(SENT, 0);
        queuePair.gather(memory.memoryAddress() + at, RsocketMessage.BYTES, localKey);
        messages += RsocketMessage.kind(message) == RsocketMessage.Kind.DATA ? 1 : 0;
    }

    private void send(int message) {
        open(message);
        queuePair.doorbell();
    }

    private void sendLength(int length) {
        queuePair.send(SENT, 0);
        queuePair.gather(memory.memoryAddress() + slot(), length, localKey);
        queuePair.doorbell();
    }

    // ------------------------------------------------------------------ what comes of it

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        if (status != WorkStatus.SUCCESS || id == SENT) {
            return;
        }
        int message = memory.getIntLE(RECEIVES_AT + (int) id * RsocketMessage.BYTES);
        if (RsocketMessage.kind(message) == RsocketMessage.Kind.SGL) {
            limit = RsocketMessage.value(message) & 0xffff;
            if (personality == RogueStreams.Personality.KEYS && random.nextBoolean()) {
                host.submit(() -> host.misbehave(this, 1));
            }
        }
        boolean isData = RsocketMessage.kind(message) == RsocketMessage.Kind.DATA;
        if (isData && ++received > CREDITS / 2) {
            // It grants no more than the private data did.
            host.wrong("gets messages that were to be held back for others");
        }
        postReceive();
    }

    @Override
    public void disconnected(Throwable cause) {
        hasEnded = true;
        host.note("is cut off");
    }

    /** Names the connection: the port of the end that has connected. */
    int port() {
        return port;
    }

    boolean hasConnected() {
        return peer != null;
    }

    /** Whether it does not have to be cut off any more. */
    boolean isPunished() {
        return hasEnded || !mustEnd;
    }

    /** Whether the handler of the other end hears why. */
    boolean mustTell() {
        return mustTell;
    }

    /** How many bytes the other end may have read at most. */
    long announced() {
        return announced;
    }

    void close() {
        if (queuePair != null) {
            queuePair.close();
        }
    }

    @Override
    public String toString() {
        return host + ", port " + port;
    }
}
