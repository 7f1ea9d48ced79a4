// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import static org.rpcrdma.examples.interop.Report.holds;

import io.netty.util.concurrent.Future;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RpcClient;

/**
 * Calls an {@link ImpairedServer} over a network that somebody else impairs, and checks that each call ends by its
 * deadline and that each byte is right.
 *
 * <pre>ImpairedClient HOST PORT STREAM_PORT</pre>
 *
 * Each line of standard input begins a phase, {@code SECONDS FEWEST NAME}: so long calls are made, at least so many of
 * which are answered. The line {@code 0 IDLE NAME} ends one in which the idle connection and the idle stream have to
 * have noticed that nobody is there (1), or are not asked (0). The end of input ends the program.
 */
public final class ImpairedClient {

    static final int KEEP_ALIVE_SECONDS = 5;

    /** Keep-alive, six probes 10 s apart, and a machine that is slow. */
    static final int NOTICED_SECONDS = KEEP_ALIVE_SECONDS + 60 + 15;

    private static final int TIMEOUT_SECONDS = 5;

    /** How much later a call may end where an emulated machine has other work. */
    private static final int SLACK_SECONDS = 3;

    /** TCP's pause between two attempts to send again is up to two minutes long by then (RFC 6298, 5.5). */
    private static final int STREAM_SECONDS = 150;

    /** An emulated machine may be slow to accept. */
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private static final int WORKERS = 4;
    private static final int SHORTEST = 64;
    private static final int SIZES = 13;
    private static final int PAUSE_MILLIS = 50;

    /** The most calls that are made in the life of one, all workers together. */
    static final int MOST_CALLS = WORKERS * 1000 * (TIMEOUT_SECONDS + SLACK_SECONDS) / PAUSE_MILLIS;

    private final RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
    private final Report report = new Report(System.out);
    private final RpcRdmaClient transport;
    private final RpcRdmaClient idle;
    private final RpcClient calls;
    private final ImpairedStream stream;
    private final ImpairedStream idleStream;

    private final AtomicLong numbers = new AtomicLong();
    private final AtomicInteger working = new AtomicInteger();
    private final AtomicLong answered = new AtomicLong();
    private final AtomicLong timedOut = new AtomicLong();
    private final AtomicLong lost = new AtomicLong();
    private final AtomicLong longestMillis = new AtomicLong();
    private volatile String wrong;
    private volatile boolean isPhaseOver;

    private ImpairedClient(String host, int port, int streamPort) {
        InetSocketAddress server = new InetSocketAddress(host, port);
        transport = RpcRdmaClient.builder(loops, server).connectTimeout(CONNECT_TIMEOUT).build();
        idle =
                RpcRdmaClient.builder(loops, server)
                        .connectTimeout(CONNECT_TIMEOUT)
                        .option(RdmaChannelOption.KEEP_ALIVE_SECONDS, KEEP_ALIVE_SECONDS)
                        .build();
        CallOptions options = CallOptions.DEFAULT.withTimeout(Duration.ofSeconds(TIMEOUT_SECONDS));
        calls = new RpcClient(transport, ImpairedServer.PROGRAM, 1).withOptions(options);
        stream = new ImpairedStream(loops, new InetSocketAddress(host, streamPort), false);
        idleStream = new ImpairedStream(loops, new InetSocketAddress(host, streamPort), true);
    }

    public static void main(String[] arguments) throws Exception {
        ImpairedClient client =
                new ImpairedClient(
                        arguments[0],
                        Integer.parseInt(arguments[1]),
                        Integer.parseInt(arguments[2]));
        System.exit(client.run() == 0 ? 0 : 1);
    }

    private int run() throws Exception {
        stream.connect();
        idleStream.connect();
        report.check("connects", this::connect);
        System.out.println("READY");
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] phase = line.split(" ", 3);
            report.check(phase[2], () -> phase(Integer.parseInt(phase[0]), phase[1]));
            System.out.println("OVER " + phase[2]);
        }
        report.check("nothing was executed twice", this::count);
        stream.close();
        idleStream.close();
        transport.closeAsync().get();
        idle.closeAsync().get();
        loops.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        return report.failed();
    }

    private void connect() throws Exception {
        new RpcClient(idle, ImpairedServer.PROGRAM, 1).call(ImpairedServer.COUNT).get().release();
        await(() -> stream.portions() > 0 && idleStream.portions() > 0, 30, "a stream is silent");
    }

    private void phase(int seconds, String number) throws Exception {
        if (seconds == 0) {
            hasNoticed(number.equals("1"));
            return;
        }
        answered.set(0);
        timedOut.set(0);
        lost.set(0);
        longestMillis.set(0);
        isPhaseOver = false;
        long portions = stream.portions();
        for (int i = 0; i < WORKERS; i++) {
            working.incrementAndGet();
            next(new Random(numbers.get() + i));
        }
        Thread.sleep(TimeUnit.SECONDS.toMillis(seconds));
        isPhaseOver = true;
        await(
                () -> working.get() == 0 && transport.outstandingCalls() == 0,
                TIMEOUT_SECONDS + SLACK_SECONDS,
                "calls do not end");
        System.out.printf(
                "   %d calls answered, %d timed out, %d lost with their connection, the longest %d"
                        + " ms; %d KiB through the stream, %d of its connections ended%n",
                answered.get(),
                timedOut.get(),
                lost.get(),
                longestMillis.get(),
                (stream.portions() - portions) * 32,
                stream.ended());
        holds(wrong == null, wrong);
        holds(!stream.isWrong() && !idleStream.isWrong(), "a stream has wrong bytes");
        int fewest = Integer.parseInt(number);
        holds(answered.get() >= fewest, answered + " answered, expected at least " + fewest);
        if (fewest > 0) {
            await(() -> stream.portions() > portions, STREAM_SECONDS, "the stream stands still");
        }
    }

    private void hasNoticed(boolean isExpected) throws Exception {
        if (isExpected) {
            await(
                    () -> idle.openConnections().isEmpty(),
                    NOTICED_SECONDS,
                    "the idle connection stays");
            await(() -> idleStream.ended() > 0, NOTICED_SECONDS, "the idle stream stays");
        }
    }

    private void next(Random random) {
        if (isPhaseOver) {
            working.decrementAndGet();
            return;
        }
        long number = numbers.incrementAndGet();
        int length = SHORTEST << random.nextInt(SIZES);
        long start = System.nanoTime();
        calls.call(
                        ImpairedServer.ECHO,
                        out -> out.writeOpaque(ImpairedData.data(number, length)),
                        in -> in.readOpaque(ImpairedServer.LONGEST))
                .addListener(
                        (Future<byte[]> call) -> {
                            ended(call, number, length, System.nanoTime() - start);
                            loops.schedule(() -> next(random), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                        });
    }

    private void ended(Future<byte[]> call, long number, int length, long nanos) {
        long millis = TimeUnit.NANOSECONDS.toMillis(nanos);
        longestMillis.accumulateAndGet(millis, Math::max);
        if (millis > TimeUnit.SECONDS.toMillis(TIMEOUT_SECONDS + SLACK_SECONDS)) {
            wrong = "a call took " + millis + " ms";
        } else if (call.isSuccess()) {
            answered.incrementAndGet();
            if (!ImpairedData.isRight(call.getNow(), number, length)) {
                wrong = "a reply of " + length + " bytes is wrong";
            }
        } else if (call.cause() instanceof CallTimeoutException) {
            timedOut.incrementAndGet();
        } else if (call.cause() instanceof ConnectionLostException) {
            lost.incrementAndGet();
        } else {
            wrong = "a call failed: " + call.cause();
        }
    }

    private void count() throws Exception {
        calls.call(
                        ImpairedServer.COUNT,
                        out -> {},
                        in -> {
                            int executed = in.readInt();
                            int doubled = in.readInt();
                            System.out.println("   " + executed + " calls executed");
                            holds(doubled == 0, doubled + " of " + executed + " executed twice");
                            return executed;
                        })
                .get();
    }

    private static void await(BooleanSupplier condition, int seconds, String otherwise)
            throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!condition.getAsBoolean()) {
            holds(System.nanoTime() - end < 0, otherwise);
            Thread.sleep(20);
        }
    }
}
