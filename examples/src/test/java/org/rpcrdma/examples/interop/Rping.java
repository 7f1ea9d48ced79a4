// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;

/**
 * The software RNIC against rdma-core's {@code rping}, both roles, without RPC. In a round the client advertises memory by a
 * Send, the server fetches it by an RDMA Read and answers by a Send; the client advertises other memory, the server writes the
 * data there and answers again; then the client compares the two.
 *
 * <pre>
 * Rping client PORT          pings the server on that port with each configuration
 * Rping server PORT PORT...  a server for each configuration, until the process is ended
 * </pre>
 */
public final class Rping {

    /** What is said on the wire, by a configuration of the device. */
    static final Map<String, IwarpConfig> CONFIGURATIONS = new LinkedHashMap<>();

    static {
        CONFIGURATIONS.put("defaults", IwarpConfig.defaults());
        CONFIGURATIONS.put("CRC", IwarpConfig.builder().crc(CrcPolicy.REQUIRE).build());
        // What fits a segment of an Ethernet: MTU 1500, IPv4 and TCP with time stamps.
        CONFIGURATIONS.put("MTU 1500", IwarpConfig.builder().maxUlpdu(1438).build());
        CONFIGURATIONS.put(
                "CRC, MTU 1500",
                IwarpConfig.builder().crc(CrcPolicy.REQUIRE).maxUlpdu(1438).build());
    }

    private static final int[] SIZES = {64, 1439, 4096, 65535};
    private static final int ROUNDS = 50;
    private static final int ADVERTISEMENT = 16;
    private static final long TIMEOUT_NANOS = 30_000_000_000L;

    private static final QueuePairConfig DEPTHS = new QueuePairConfig(16, 4, 1, 1);
    private static final long RECEIVE = 1;
    private static final long SEND = 2;
    private static final long DATA = 3;

    private Rping() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("client")) {
            Report report = new Report(System.out);
            CONFIGURATIONS.forEach(
                    (name, config) -> {
                        for (int size : SIZES) {
                            report.check(
                                    "pings rping's server: " + name + ", " + size + " bytes",
                                    () -> ping(config, ServerProbe.loopback(arguments[1]), size));
                        }
                    });
            System.exit(report.failed() == 0 ? 0 : 1);
        }
        int next = 1;
        for (IwarpConfig config : CONFIGURATIONS.values()) {
            serve(config, ServerProbe.loopback(arguments[next++]));
        }
        System.out.println("READY");
    }

    private static void ping(IwarpConfig config, InetSocketAddress server, int size)
            throws IOException {
        VerbsContext context = new IwarpProvider(config).open();
        try {
            End end = new End(context, size);
            end.pair = context.createQueuePair(DEPTHS, end);
            end.pair.connect(server, null, new byte[0]);
            end.await(() -> end.connected);
            end.receive();
            for (int round = 0; round < ROUNDS; round++) {
                end.ping(round);
            }
            end.pair.disconnect();
            end.await(() -> end.disconnected);
        } finally {
            context.close();
        }
    }

    private static void serve(IwarpConfig config, InetSocketAddress address) throws IOException {
        VerbsContext context = new IwarpProvider(config).open();
        Deque<End> started = new ArrayDeque<>();
        context.listen(
                address,
                8,
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        try {
                            End end = new End(context, 1 << 16);
                            end.pair = context.createQueuePair(request, DEPTHS, end);
                            end.receive();
                            end.pair.accept(new byte[0]);
                            started.add(end);
                        } catch (IOException e) {
                            throw new IllegalStateException(e);
                        }
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        throw new IllegalStateException(cause);
                    }
                });
        new Thread(
                        () -> {
                            while (true) {
                                try {
                                    context.poll(16);
                                    context.await(1_000_000);
                                    for (End end = started.poll();
                                            end != null;
                                            end = started.poll()) {
                                        end.answerAll();
                                    }
                                } catch (IOException | AssertionError e) {
                                    System.out.println("FAIL " + e);
                                }
                            }
                        },
                        "server")
                .start();
    }

    private interface Condition {
        boolean holds();
    }

    /** One end of a connection; works on one thread, which polls while it waits. */
    private static final class End implements QueuePairHandler {

        private final VerbsContext context;
        private final int size;
        private final ByteBuffer message;
        private final ByteBuffer source;
        private final ByteBuffer sink;
        private final MemoryRegion messageMemory;
        private final MemoryRegion sourceMemory;
        private final MemoryRegion sinkMemory;
        QueuePair pair;
        boolean connected;
        boolean disconnected;
        private String failure;
        private int received;
        private int sent;
        private int moved;

        End(VerbsContext context, int size) {
            this.context = context;
            this.size = size;
            message = ByteBuffer.allocateDirect(2 * ADVERTISEMENT);
            source = ByteBuffer.allocateDirect(size);
            sink = ByteBuffer.allocateDirect(size);
            messageMemory = register(message);
            sourceMemory = register(source);
            sinkMemory = register(sink);
        }

        private MemoryRegion register(ByteBuffer memory) {
            return context.register(memory, PlatformDependent.directBufferAddress(memory));
        }

        void receive() {
            pair.postReceive(
                    RECEIVE, messageMemory.address(), ADVERTISEMENT, messageMemory.localKey());
        }

        /** The first half of {@code message} is received, the second half sent. */
        private void send() {
            pair.send(SEND, QueuePair.SIGNALED);
            pair.gather(
                    messageMemory.address() + ADVERTISEMENT,
                    ADVERTISEMENT,
                    messageMemory.localKey());
            pair.doorbell();
        }

        void await(Condition condition) {
            long deadline = System.nanoTime() + TIMEOUT_NANOS;
            while (!condition.holds() && failure == null && System.nanoTime() - deadline < 0) {
                context.poll(16);
            }
            if (failure != null || !condition.holds()) {
                throw new AssertionError(failure == null ? "nothing came" : failure);
            }
        }

        // -------------------------------------------------------------- client

        /** The server takes the data for a C string. */
        void ping(int round) {
            for (int i = 0; i < size; i++) {
                source.put(i, (byte) (i + 1 < size ? 'A' + (i * 31 + round) % 26 : 0));
                sink.put(i, (byte) '-');
            }
            advertise(sourceMemory, QueuePair.REMOTE_READ);
            advertise(sinkMemory, QueuePair.REMOTE_WRITE);
            if (!source.equals(sink)) {
                throw new AssertionError("round " + round + ": the data came back changed");
            }
        }

        private void advertise(MemoryRegion memory, int access) {
            int key = pair.expose(memory, memory.address(), size, access);
            message.putLong(ADVERTISEMENT, pair.exposedOffset(key));
            message.putInt(ADVERTISEMENT + 8, key).putInt(ADVERTISEMENT + 12, size);
            int before = received;
            send();
            await(() -> received > before);
            receive();
            pair.invalidate(key);
        }

        // -------------------------------------------------------------- server

        void answerAll() {
            int rounds = 0;
            try {
                await(() -> connected);
                while (answer()) {
                    rounds++;
                }
                System.out.println("SERVED " + rounds);
            } finally {
                pair.close();
            }
        }

        private boolean answer() {
            int before = 2 * (sent / 2);
            await(() -> received > before || disconnected);
            if (disconnected) {
                return false;
            }
            int length = message.getInt(12);
            transfer(length, true);
            receive();
            send();
            await(() -> received > before + 1);
            transfer(Math.min(length, message.getInt(12)), false);
            receive();
            send();
            await(() -> sent == before + 2);
            return true;
        }

        private void transfer(int length, boolean read) {
            Report.holds(length >= 0 && length <= size, "advertised length " + length);
            if (read) {
                pair.read(DATA, QueuePair.SIGNALED, message.getLong(0), message.getInt(8));
            } else {
                pair.write(DATA, QueuePair.SIGNALED, message.getLong(0), message.getInt(8));
            }
            pair.gather(sinkMemory.address(), length, sinkMemory.localKey());
            pair.doorbell();
            int before = moved;
            await(() -> moved > before);
        }

        // -------------------------------------------------------------- events

        @Override
        public void connected(byte[] privateData) {
            connected = true;
        }

        @Override
        public void connectFailed(Throwable cause) {
            failure = "no connection: " + cause;
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            if (status == WorkStatus.FLUSHED) {
                return;
            }
            if (status != WorkStatus.SUCCESS) {
                failure = "work request " + id + ": " + status;
            } else if (id == RECEIVE) {
                received++;
                if (length != ADVERTISEMENT) {
                    failure = "message of " + length + " bytes";
                }
            } else if (id == SEND) {
                sent++;
            } else {
                moved++;
            }
        }

        @Override
        public void disconnected(Throwable cause) {
            disconnected = true;
            if (cause != null) {
                failure = "disconnected: " + cause;
            }
        }
    }
}
