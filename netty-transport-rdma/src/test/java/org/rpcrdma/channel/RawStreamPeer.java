// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/**
 * An end of a stream that does what a test says, right or wrong. It belongs to the thread of the test, which polls it.
 */
final class RawStreamPeer implements QueuePairHandler, AutoCloseable {

    static final int CREDITS = 16;
    static final int TABLE_ENTRIES = 4;

    private static final QueuePairConfig SIZE = new QueuePairConfig(512, 512, 1, 1);

    private static final long SENT = -1;
    private static final int SLOTS = 1024;
    private static final int RECEIVES = 64 << 10;
    private static final int LARGE = 72 << 10;
    private static final int BUFFERS = 128 << 10;
    private static final int BYTES = 1 << 20;
    private static final int RECEIVE_COUNT = 400;

    /** So long for what a peer is expected to do. */
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(StreamPair.PATIENCE_SECONDS);

    final EventLoopVerbsContext context = Rdma.provider().open();
    final ByteBuffer memory = ByteBuffer.allocateDirect(BYTES);
    final ByteBuf bytes = Unpooled.wrappedBuffer(memory);
    final long base = PlatformDependent.directBufferAddress(memory);
    final MemoryRegion region = context.register(memory, base);

    /** What was received, in order. */
    final List<Integer> messages = new ArrayList<>();

    QueuePair queuePair;
    byte[] peerData;
    StreamPrivateData peer;
    Throwable connectFailure;
    boolean hasEnded;
    Throwable endedBy;

    /** How messages travel: the device's kind decides. */
    final boolean hasImmediates = context.capabilities().writesWithImmediate();

    private int tableKey;
    private int bufferKey;
    private int nextReceive;
    private int nextSlot;

    RawStreamPeer() throws IOException {}

    // ------------------------------------------------------------------ connecting

    /** Makes the queue pair and the private data: a table, and a first buffer of that length. */
    private StreamPrivateData prepare(QueuePair fresh, int firstBuffer) {
        queuePair = fresh;
        for (int i = 0; i < RECEIVE_COUNT; i++) {
            postReceive();
        }
        tableKey =
                fresh.expose(
                        region,
                        base,
                        TABLE_ENTRIES * ReceiveBufferAddress.BYTES,
                        QueuePair.REMOTE_WRITE);
        bufferKey = fresh.expose(region, base + BUFFERS, BYTES - BUFFERS, QueuePair.REMOTE_WRITE);
        return new StreamPrivateData(
                CREDITS,
                fresh.exposedOffset(tableKey),
                tableKey,
                TABLE_ENTRIES,
                new ReceiveBufferAddress(fresh.exposedOffset(bufferKey), bufferKey, firstBuffer));
    }

    private void postReceive() {
        int slot = nextReceive++ % RECEIVE_COUNT;
        if (hasImmediates) {
            queuePair.postReceive(slot, 0, 0, 0);
            return;
        }
        queuePair.postReceive(
                slot, base + RECEIVES + slot * 8L, RsocketMessage.BYTES, region.localKey());
    }

    /** Connects with a first buffer of that length, and waits for the answer. */
    RawStreamPeer connect(InetSocketAddress address, int firstBuffer) throws Exception {
        StreamPrivateData data = prepare(context.createQueuePair(SIZE, this), firstBuffer);
        queuePair.connect(address, null, data.encode());
        await(() -> peerData != null);
        peer = StreamPrivateData.decode(peerData, hasImmediates);
        return this;
    }

    /** Connects with private data of any kind, and waits for what comes of it. */
    RawStreamPeer connect(InetSocketAddress address, byte[] privateData) throws Exception {
        prepare(context.createQueuePair(SIZE, this), 1);
        queuePair.connect(address, null, privateData);
        await(() -> peerData != null || connectFailure != null);
        return this;
    }

    /** Connects as a big-endian machine, and returns what the peer answers, if it does. */
    byte[] bigEndian(InetSocketAddress address) {
        try {
            StreamPrivateData data = prepare(context.createQueuePair(SIZE, this), 100);
            queuePair.connect(
                    address,
                    null,
                    new StreamPrivateData(
                                    data.credits(),
                                    data.tableOffset(),
                                    data.tableKey(),
                                    data.tableEntries(),
                                    true,
                                    data.buffer())
                            .encode());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        await(() -> peerData != null || connectFailure != null);
        return peerData;
    }

    /** What the peer has written into this end's table. */
    ReceiveBufferAddress ownEntry(int index, boolean isBigEndian) {
        int at = index * ReceiveBufferAddress.BYTES;
        return isBigEndian
                ? new ReceiveBufferAddress(
                        bytes.getLong(at), bytes.getInt(at + 8), bytes.getInt(at + 12))
                : new ReceiveBufferAddress(
                        bytes.getLongLE(at), bytes.getIntLE(at + 8), bytes.getIntLE(at + 12));
    }

    /** Listens; each request is answered with this private data. */
    InetSocketAddress listen(byte[] privateData) throws IOException {
        Listener listener =
                context.listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        4,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest request) {
                                try {
                                    prepare(
                                            context.createQueuePair(
                                                    request, SIZE, RawStreamPeer.this),
                                            1);
                                } catch (IOException e) {
                                    throw new UncheckedIOException(e);
                                }
                                queuePair.accept(privateData);
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                throw new IllegalStateException(cause);
                            }
                        });
        return listener.localAddress();
    }

    // ------------------------------------------------------------------ doing

    /** Polls until it holds. */
    void await(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (context.poll(64) == 0) {
                if (System.nanoTime() - start > PATIENCE) {
                    throw new AssertionError("it did not happen; received: " + messages);
                }
                pause();
            }
        }
    }

    /** What is waited for may happen on another thread. */
    private void pause() {
        try {
            context.await(TimeUnit.MILLISECONDS.toNanos(5));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int slot() {
        nextSlot = (nextSlot + 1) % 512;
        return SLOTS + nextSlot * 64;
    }

    /** Writes bytes. */
    void write(long offset, int key, byte... data) {
        int slot = data.length <= 64 ? slot() : LARGE;
        memory.put(slot, data);
        queuePair.write(SENT, 0, offset, key);
        queuePair.gather(base + slot, data.length, region.localKey());
        queuePair.doorbell();
    }

    /** Sends a message. */
    void send(int message) {
        if (hasImmediates) {
            queuePair.writeWithImmediate(SENT, QueuePair.SIGNALED, 0, 0, message);
            queuePair.doorbell();
            return;
        }
        int slot = slot();
        bytes.setIntLE(slot, message);
        sendBytes(slot, RsocketMessage.BYTES);
    }

    /** Opens a message that goes out with the next doorbell. */
    void open(int message, int slot) {
        if (hasImmediates) {
            queuePair.writeWithImmediate(SENT, 0, 0, 0, message);
            return;
        }
        bytes.setIntLE(slot, message);
        queuePair.send(SENT, 0);
        queuePair.gather(base + slot, RsocketMessage.BYTES, region.localKey());
    }

    /** Writes bytes, and says with the same Write that it did. */
    void writeWithImmediate(long offset, int key, int message, byte... data) {
        int slot = slot();
        memory.put(slot, data);
        queuePair.writeWithImmediate(SENT, QueuePair.SIGNALED, offset, key, message);
        queuePair.gather(base + slot, data.length, region.localKey());
        queuePair.doorbell();
    }

    /** Sends so many bytes as a message. */
    void sendLength(int length) {
        sendBytes(slot(), length);
    }

    private void sendBytes(int slot, int length) {
        queuePair.send(SENT, QueuePair.SIGNALED);
        queuePair.gather(base + slot, length, region.localKey());
        queuePair.doorbell();
    }

    /** Publishes part of this end's memory in an entry of the peer's table. */
    void publish(int index, int start, int length, int limit) {
        int slot = slot();
        ReceiveBufferAddress.put(
                bytes, slot, queuePair.exposedOffset(bufferKey) + start, bufferKey, length);
        queuePair.write(
                SENT,
                0,
                peer.tableOffset() + (long) index * ReceiveBufferAddress.BYTES,
                peer.tableKey());
        queuePair.gather(base + slot, ReceiveBufferAddress.BYTES, region.localKey());
        send(RsocketMessage.sgl(limit));
    }

    /** Bytes that the peer has written into published memory. */
    byte[] received(int start, int length) {
        byte[] data = new byte[length];
        memory.get(BUFFERS + start, data);
        return data;
    }

    /** The messages of a kind. */
    List<Integer> messages(RsocketMessage.Kind kind) {
        return messages.stream().filter(m -> RsocketMessage.kind(m) == kind).toList();
    }

    /** Sum of the DATA messages. */
    int dataReceived() {
        return messages(RsocketMessage.Kind.DATA).stream().mapToInt(m -> m).sum();
    }

    // ------------------------------------------------------------------ hearing

    @Override
    public void connected(byte[] privateData) {
        peerData = privateData;
    }

    @Override
    public void connectFailed(Throwable cause) {
        connectFailure = cause;
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        if (status == WorkStatus.SUCCESS && id != SENT) {
            messages.add(bytes.getIntLE(RECEIVES + (int) id * 8));
            postReceive();
        }
    }

    @Override
    public boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        messages.add(immediate);
        postReceive();
        return true;
    }

    @Override
    public void disconnected(Throwable cause) {
        hasEnded = true;
        endedBy = cause;
    }

    @Override
    public void close() {
        context.close();
    }
}
