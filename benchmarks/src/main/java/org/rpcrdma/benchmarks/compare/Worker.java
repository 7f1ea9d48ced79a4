// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.google.gson.Gson;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.rpcrdma.benchmarks.ResponderHandler;
import org.rpcrdma.benchmarks.Transport;

/** A process with the client, the server or both of one transport. It does what it reads, a line at a time. */
final class Worker implements AutoCloseable {

    private static final int DATA = 1 << 20;
    private static final long HIGHEST_LATENCY = TimeUnit.MINUTES.toNanos(2);
    private static final long PATIENCE_SECONDS = 120;

    private final Transport transport;
    private final Path directory;
    private final EventLoopGroup group;
    private final ByteBuf memory = Unpooled.directBuffer(DATA).writeZero(DATA);
    private final Histogram latencies = new Histogram(1, HIGHEST_LATENCY, 3);

    /** What the callers tell: the calls of a finished window, or a failure. */
    private final BlockingQueue<Object> told = new LinkedBlockingQueue<>();

    private final List<Channel> channels = new ArrayList<>();
    private SocketAddress server;

    Worker(Transport transport) throws Exception {
        this.transport = transport;
        directory = Files.createTempDirectory("rpcrdma-compare");
        group = transport.newGroup();
        group.next().submit(() -> {}).get(); // its thread runs
    }

    /** Arguments: the name of the transport. Ends with its standard input. */
    public static void main(String[] args) throws Exception {
        Gson gson = new Gson();
        PrintStream out = System.out;
        System.setOut(System.err); // one line for each request, and nothing between
        try (Worker worker = new Worker(Transport.valueOf(args[0]));
                BufferedReader in =
                        new BufferedReader(
                                new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Request request = gson.fromJson(line, Request.class);
                if (request.command() == Request.Command.QUIT) {
                    return;
                }
                out.println(gson.toJson(worker.answer(request)));
            }
        }
    }

    private Answer answer(Request request) throws InterruptedException {
        try {
            return switch (request.command()) {
                case LISTEN -> new Answer(null, listen(), null, null);
                case CONNECT -> {
                    server = transport.fromText(request.address());
                    yield new Answer(null, request.address(), null, null);
                }
                case RUN -> new Answer(null, null, run(request.work(), request.millis()), null);
                case COST, QUIT -> new Answer(null, null, null, Cost.now());
            };
        } catch (IllegalStateException e) {
            return new Answer(
                    e.getMessage() + (e.getCause() == null ? "" : ": " + e.getCause()),
                    null,
                    null,
                    null);
        }
    }

    private String listen() {
        Channel listener =
                transport
                        .server(group, new ResponderHandler(memory))
                        .bind(transport.serverAddress(directory))
                        .syncUninterruptibly()
                        .channel();
        return transport.toText(listener.localAddress());
    }

    private Window run(Work work, long millis) throws InterruptedException {
        connect(work.connections() + work.idle());
        latencies.reset();
        Cost before = Cost.now();
        long start = System.nanoTime();
        long end = start + TimeUnit.MILLISECONDS.toNanos(millis);
        for (Channel channel : channels.subList(0, work.connections())) {
            Caller caller = channel.pipeline().get(Caller.class);
            channel.eventLoop().execute(() -> caller.start(work, end));
        }
        long calls = 0;
        for (int i = 0; i < work.connections(); i++) {
            Object said = told.poll(millis + PATIENCE_SECONDS * 1000, TimeUnit.MILLISECONDS);
            if (!(said instanceof Long finished)) {
                throw new IllegalStateException(
                        work.label() + " on " + transport + " has failed",
                        said == null
                                ? new IllegalStateException("no reply for a long time")
                                : (Throwable) said);
            }
            calls += finished;
        }
        long nanos = System.nanoTime() - start;
        return Window.of(calls, nanos, latencies, Cost.now().since(before));
    }

    private void connect(int wanted) {
        while (channels.size() < wanted) {
            channels.add(
                    transport
                            .client(group, () -> new Caller(memory, latencies, new Told()))
                            .connect(server)
                            .syncUninterruptibly()
                            .channel());
        }
    }

    @Override
    public void close() throws IOException {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        memory.release();
        try (var files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }

    private final class Told implements Caller.Listener {
        @Override
        public void finished(long calls) {
            told.add(calls);
        }

        @Override
        public void failed(Throwable cause) {
            told.add(cause);
        }
    }
}
