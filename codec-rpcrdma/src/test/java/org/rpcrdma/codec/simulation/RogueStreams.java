// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.IwarpConfig;

/**
 * An end of byte streams that lies, in either role, over queue pairs without a channel, on a thread of its own.
 * Whatever it does costs it the one stream, and others nothing.
 */
final class RogueStreams implements Runnable {

    /** What it lies about. */
    enum Personality {
        /** Sends without credits, and grants more than it has offered. */
        CREDITS,
        /** Writes outside of what was announced to it, and announces bytes that have no room. */
        PLACES,
        /** Writes bytes, and never says so. */
        UNANNOUNCED,
        /** Sends messages of reserved kinds and wrong lengths. */
        MESSAGES,
        /** Ends its direction twice, goes on behind the end, or vanishes. */
        ENDS,
        /** Writes by keys that were taken from it, that others have, or that it has guessed. */
        KEYS,
        /** Announces memory that it has not. */
        TABLES,
        /** Connects with private data that are none. */
        PRIVATE_DATA
    }

    private static final int MOST_STREAMS = 4;
    private static final int MOST_KEYS = 64;
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final SimulatedWorld world;
    private final Personality personality;
    private final String name;
    private final Random random;
    private final EventLoopVerbsContext context;
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final List<RogueStream> made = new ArrayList<>();

    /** All keys that honest ends have told, on whichever connection. */
    private final List<Integer> keys = new ArrayList<>();

    private final ByteBuf memory = Unpooled.directBuffer(MOST_STREAMS * RogueStream.MEMORY);
    private final MemoryRegion region;
    private int nextPort;
    private boolean isEnding;

    RogueStreams(SimulatedWorld world, Personality personality, int number, long seed) {
        this.world = world;
        this.personality = personality;
        name = "rogue stream for " + personality;
        random = new Random(seed);
        nextPort = 50_000 + 100 * number;
        memory.setZero(0, memory.capacity());
        try {
            context = world.network.provider(IwarpConfig.defaults()).open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        region = context.register(memory.nioBuffer(0, memory.capacity()), memory.memoryAddress());
        world.network.executor().execute(this);
    }

    boolean is(Personality one) {
        return personality == one;
    }

    Personality personality() {
        return personality;
    }

    // ------------------------------------------------------------------ of the thread of the test

    /** Connects if it may and likes to, and misbehaves on what there is. */
    void act(InetSocketAddress server) {
        submit(
                () -> {
                    if (made.stream().noneMatch(RogueStream::isOpen)) {
                        connect(server);
                    }
                    misbehave();
                });
    }

    /** Misbehaves where others have connected. */
    void act() {
        submit(this::misbehave);
    }

    /** Lets others connect. */
    void listen(InetSocketAddress address) {
        submit(
                () -> {
                    try {
                        context.listen(address, 4, new Requests());
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
    }

    /** The connections that it has or had. */
    List<RogueStream> streams() {
        return made;
    }

    void close() {
        submit(() -> isEnding = true);
    }

    /** Of its own thread too. */
    void submit(Runnable task) {
        tasks.add(task);
        context.wakeup();
    }

    // ------------------------------------------------------------------ of its own thread

    @Override
    public void run() {
        try {
            while (!isEnding) {
                while (!tasks.isEmpty()) {
                    tasks.poll().run();
                }
                if (context.poll(64) == 0 && tasks.isEmpty()) {
                    context.await(WAIT_NANOS);
                }
            }
            made.forEach(RogueStream::close);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            context.close();
            memory.release();
        }
    }

    private RogueStream next() {
        if (made.size() == MOST_STREAMS) {
            return null;
        }
        ByteBuf part = memory.slice(made.size() * RogueStream.MEMORY, RogueStream.MEMORY);
        RogueStream stream =
                new RogueStream(this, part, region.localKey(), new Random(random.nextLong()));
        made.add(stream);
        return stream;
    }

    private void connect(InetSocketAddress server) {
        RogueStream stream = next();
        if (stream == null) {
            return;
        }
        note("connects");
        try {
            QueuePair queuePair = context.createQueuePair(RogueStream.SIZE, stream);
            InetSocketAddress local =
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), nextPort++);
            byte[] data = stream.prepare(queuePair, local.getPort());
            queuePair.connect(server, local, data);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void misbehave() {
        made.forEach(stream -> misbehave(stream, 1));
    }

    void misbehave(RogueStream stream, int times) {
        try {
            for (int i = 0; i < times; i++) {
                stream.act();
            }
        } catch (RuntimeException e) {
            note("cannot: " + e.getClass());
        }
    }

    MemoryRegion region() {
        return region;
    }

    List<Integer> keys() {
        return keys;
    }

    void remember(int key) {
        if (keys.size() < MOST_KEYS) {
            keys.add(key);
        }
    }

    void note(String what) {
        world.network.note(this + " " + what);
    }

    void wrong(String what) {
        world.wrong(this + ": " + what);
    }

    @Override
    public String toString() {
        return name;
    }

    private final class Requests implements ListenerHandler {
        @Override
        public void connectionRequested(ConnectionRequest request) {
            RogueStream stream = next();
            if (stream == null) {
                request.reject(new byte[0]);
                return;
            }
            try {
                QueuePair queuePair = context.createQueuePair(request, RogueStream.SIZE, stream);
                stream.requested(request.privateData());
                queuePair.accept(stream.prepare(queuePair, request.remoteAddress().getPort()));
            } catch (IOException e) {
                note("cannot accept a peer that has gone: " + e.getMessage());
            }
        }

        @Override
        public void acceptFailed(Throwable cause) {
            note("accepts nobody: " + cause.getClass());
        }
    }
}
