// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.wire.TransportHeader;

/** The invariant of {@link FlushScheduler}, for any order of what reads, writes, flushes and fails. */
class FlushSchedulerPropertyTest {

    private static final int SCRIPTS = 300;
    private static final int MOST_STEPS = 6;
    private static final int MOST_ACTS = 5;

    /** The device: takes what is written, and remembers what of it was flushed. Event loop only. */
    private static final class Device extends ChannelDuplexHandler {
        private int written;
        private int flushed;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ReferenceCountUtil.release(message);
            written++;
            promise.trySuccess();
        }

        @Override
        public void flush(ChannelHandlerContext ctx) {
            flushed = written;
        }
    }

    /** The upper layer: does with each call what the script says. Event loop only. */
    private final class User extends ChannelDuplexHandler {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            unanswered.add(Rpc.xid((ByteBuf) message));
            ReferenceCountUtil.release(message);
            act();
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (random.nextBoolean()) {
                act();
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            act();
        }
    }

    private final Device device = new Device();
    private final Queue<Integer> unanswered = new ArrayDeque<>();
    private final List<String> history = new ArrayList<>();
    private Random random;
    private RpcPair pair;
    private int lastXid;

    /** Of what was written, so much was flushed by somebody. */
    private int due;

    private void note(String what) {
        history.add(what + " (written " + device.written + ", due " + due + ')');
    }

    /** One thing that a handler may do, on the event loop. */
    private void act() {
        switch (random.nextInt(6)) {
            case 0 -> answer();
            case 1 -> {
                answer();
                flush();
            }
            case 2 -> flush();
            case 3 -> codecWrites();
            case 4 -> {
                note("throws");
                throw new IllegalStateException("of the script");
            }
            default -> note("nothing");
        }
    }

    private void answer() {
        Integer xid = unanswered.poll();
        if (xid != null) {
            pair.serverChannel.write(Rpc.reply(xid));
            note("answers");
        }
    }

    private void flush() {
        due = device.written;
        note("flushes");
        pair.serverChannel.flush();
    }

    /** A message that no handler knows of, such as an error or a pull completion. */
    private void codecWrites() {
        pair.serverChannel
                .pipeline()
                .context(TransportHeaderHandler.class)
                .write(RawPeer.nothing().writeZero(TransportHeader.MINIMUM_BYTES));
        due = device.written;
        note("codec writes");
        pair.serverConnection().link().flushes().request();
    }

    private void acts() {
        for (int i = random.nextInt(MOST_ACTS); i >= 0; i--) {
            try {
                act();
            } catch (IllegalStateException e) {
                return; // as a task does
            }
        }
    }

    private void batch() {
        ChannelPipeline pipeline = pair.serverChannel.pipeline();
        for (int i = random.nextInt(MOST_ACTS); i >= 0; i--) {
            note("read");
            TransportHeader header = RawPeer.header(++lastXid, TransportHeader.RDMA_MSG);
            pipeline.fireChannelRead(RawPeer.message(header, Rpc.echo(lastXid, 8)));
            if (random.nextInt(8) == 0) {
                note("exception of the channel");
                pipeline.fireExceptionCaught(new IllegalStateException("no receive"));
            }
        }
        pipeline.fireChannelReadComplete();
        note("end of the batch");
    }

    private void step() throws Exception {
        switch (random.nextInt(3)) {
            case 0 -> on(pair.serverChannel, this::batchStep);
            case 1 -> on(pair.serverChannel, this::task);
            default ->
                    pair.serverChannel
                            .eventLoop()
                            .schedule(this::task, random.nextInt(2), TimeUnit.MICROSECONDS)
                            .sync();
        }
    }

    private Object batchStep() {
        batch();
        return null;
    }

    private Object task() {
        note("task or timer");
        acts();
        return null;
    }

    @Test
    void nothingFlushedStaysBehindOnceTheLoopIsIdle() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().build();
        try (RpcPair connected = RpcPair.rawClient(config, config)) {
            pair = connected;
            ChannelPipeline pipeline = pair.serverChannel.pipeline();
            on(
                    pair.serverChannel,
                    () ->
                            pipeline.addFirst(device)
                                    .addBefore(
                                            pipeline.context(pair.server).name(),
                                            null,
                                            new User()));
            for (int seed = 0; seed < SCRIPTS; seed++) {
                script(seed);
            }
            on(pair.serverChannel, () -> pipeline.remove(device));
        }
    }

    private void script(int seed) throws Exception {
        random = new Random(seed);
        history.clear();
        int steps = 1 + random.nextInt(MOST_STEPS);
        for (int i = 0; i < steps; i++) {
            step();
        }
        // What the last step has left to do is in the queue before this.
        on(pair.serverChannel, () -> null);
        boolean isKept = on(pair.serverChannel, () -> device.flushed >= due);
        assertThat(isKept).as("seed %d: %s", seed, history).isTrue();
        on(pair.serverChannel, this::answerAll);
    }

    /** So that the next script has all credits. */
    private Object answerAll() {
        while (!unanswered.isEmpty()) {
            answer();
        }
        flush();
        return null;
    }
}
