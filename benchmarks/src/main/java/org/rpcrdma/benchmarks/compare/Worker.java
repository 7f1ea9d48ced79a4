// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import com.google.gson.Gson;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** A process with the client, the server or both of one contender. It does what it reads, a line at a time. */
final class Worker implements AutoCloseable {

    private static final int DATA = 1 << 20;
    private static final long HIGHEST_LATENCY = TimeUnit.MINUTES.toNanos(2);

    private final Path directory;
    private final EventLoopGroup group;
    private final ByteBuf memory = Unpooled.directBuffer(DATA).writeZero(DATA);
    private final Histogram latencies = new Histogram(1, HIGHEST_LATENCY, 3);
    private final Map<Application, Side> sides = new EnumMap<>(Application.class);
    private Map<Application, String> addresses = Map.of();

    Worker(Contender contender) throws Exception {
        directory = Files.createTempDirectory("rpcrdma-compare");
        group = contender.newGroup();
        group.next().submit(() -> {}).get(); // its thread runs
        Tools tools = new Tools(group, memory, directory);
        for (Application application : contender.applications()) {
            sides.put(application, contender.open(application, tools));
        }
    }

    /** Arguments: the name of the contender. Ends with its standard input. */
    public static void main(String[] args) throws Exception {
        Gson gson = new Gson();
        PrintStream out = System.out;
        System.setOut(System.err); // one line for each request, and nothing between
        try (Worker worker = new Worker(Contender.named(args[0]));
                BufferedReader in =
                        new BufferedReader(
                                new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Request request = gson.fromJson(line, Request.class);
                if (request.command() == Request.Command.QUIT) {
                    break;
                }
                out.println(gson.toJson(worker.answer(request)));
            }
        }
        System.exit(0); // whatever threads others have left
    }

    private Answer answer(Request request) {
        try {
            return switch (request.command()) {
                case LISTEN -> new Answer(null, listen(), null, null, 0);
                case CONNECT -> {
                    addresses = request.addresses();
                    yield Answer.nothing();
                }
                case RUN -> new Answer(null, null, run(request.work(), request.millis()), null, 0);
                case MEMORY -> new Answer(null, null, null, null, Memory.inUse());
                case COST, QUIT -> new Answer(null, null, null, Cost.now(), 0);
            };
        } catch (Exception e) {
            return new Answer(
                    e.getMessage() + (e.getCause() == null ? "" : ": " + e.getCause()),
                    null,
                    null,
                    null,
                    0);
        }
    }

    private Map<Application, String> listen() throws Exception {
        Map<Application, String> listening = new EnumMap<>(Application.class);
        for (Map.Entry<Application, Side> side : sides.entrySet()) {
            listening.put(side.getKey(), side.getValue().listen());
        }
        return listening;
    }

    private Window run(Work work, long millis) throws Exception {
        Side side = sides.get(work.application());
        side.connect(addresses.get(work.application()), work.connections() + work.idle());
        latencies.reset();
        Cost before = Cost.now();
        long start = System.nanoTime();
        long calls = side.run(work, start + TimeUnit.MILLISECONDS.toNanos(millis), latencies);
        long nanos = System.nanoTime() - start;
        return Window.of(calls, nanos, latencies, Cost.now().since(before));
    }

    @Override
    public void close() throws Exception {
        for (Side side : sides.values()) {
            side.close();
        }
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        memory.release();
        try (var files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }
}
