// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * A device against rdma-core's {@code rping}, both roles, without RPC. In a round the client advertises memory
 * by a Send, the server fetches it by an RDMA Read and answers by a Send; the client advertises other memory, the
 * server writes the data there and answers again; then the client compares the two.
 *
 * <pre>
 * Rping client [HOST:]PORT          pings the server there with each of {@link Devices}
 * Rping server [HOST:]PORT ...      a server for each of them, until the process is ended
 * </pre>
 */
public final class Rping {

    private static final int[] SIZES = {64, 1439, 4096, 65535};
    private static final int ROUNDS = 50;
    private static final int LONGEST = 1 << 16;
    private static final int ADVERTISEMENT = 16;

    private static final QueuePairConfig DEPTHS = new QueuePairConfig(16, 4, 1, 1);

    private Rping() {}

    public static void main(String[] arguments) throws Exception {
        int failed = run(arguments);
        if (!arguments[0].equals("server")) {
            System.exit(failed == 0 ? 0 : 1);
        }
    }

    /** The checks that have failed; a server goes on. */
    static int run(String[] arguments) throws Exception {
        if (arguments[0].equals("client")) {
            Report report = new Report(System.out);
            Devices.all()
                    .forEach(
                            (name, device) -> {
                                for (int size : SIZES) {
                                    report.check(
                                            "pings rping's server: "
                                                    + name
                                                    + ", "
                                                    + size
                                                    + " bytes",
                                            () ->
                                                    ping(
                                                            device,
                                                            Devices.address(arguments[1]),
                                                            size));
                                }
                            });
            return report.failed();
        }
        int next = 1;
        for (VerbsProvider device : Devices.all().values()) {
            serve(device, Devices.address(arguments[next++]));
        }
        System.out.println("READY");
        return 0;
    }

    private static void ping(VerbsProvider device, InetSocketAddress server, int size)
            throws IOException {
        EventLoopVerbsContext context = device.open();
        try {
            Side side = new Side(context, size);
            side.end = PolledEnd.connect(context, DEPTHS, server, side::receive);
            for (int round = 0; round < ROUNDS; round++) {
                side.ping(round);
            }
            side.end.disconnect();
        } finally {
            context.close();
        }
    }

    private static void serve(VerbsProvider device, InetSocketAddress address) throws IOException {
        EventLoopVerbsContext context = device.open();
        Deque<ConnectionRequest> requests = new ArrayDeque<>();
        context.listen(
                address,
                8,
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        requests.add(request);
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
                                    while (!requests.isEmpty()) {
                                        answer(context, requests.remove());
                                    }
                                } catch (IOException | AssertionError e) {
                                    System.out.println("FAIL " + e);
                                }
                            }
                        },
                        "server")
                .start();
    }

    private static void answer(EventLoopVerbsContext context, ConnectionRequest request)
            throws IOException {
        Side side = new Side(context, LONGEST);
        side.end = PolledEnd.accept(context, DEPTHS, request, side::receive);
        int rounds = 0;
        try {
            while (side.answer()) {
                rounds++;
            }
            System.out.println("SERVED " + rounds);
        } finally {
            side.end.pair().close();
        }
    }

    /** What either side has: memory for the data, and for advertisements, the one received and the one sent. */
    private static final class Side {

        private final int size;
        private final PolledMemory message;
        private final PolledMemory source;
        private final PolledMemory sink;
        private PolledEnd end;

        Side(EventLoopVerbsContext context, int size) {
            this.size = size;
            message = new PolledMemory(context, 2 * ADVERTISEMENT);
            source = new PolledMemory(context, size);
            sink = new PolledMemory(context, size);
        }

        private void receive(PolledEnd opened) {
            opened.postReceive(message, 0, ADVERTISEMENT);
        }

        private void send() {
            int before = end.completed();
            end.send(message, ADVERTISEMENT, ADVERTISEMENT);
            end.await("completion", () -> end.completed() > before);
        }

        private void takeMessage() {
            Report.same("bytes of a message", ADVERTISEMENT, end.take());
        }

        /** The server takes the data for a C string. */
        void ping(int round) {
            for (int i = 0; i < size; i++) {
                byte letter = (byte) (i + 1 < size ? 'A' + (i * 31 + round) % 26 : 0);
                source.bytes().put(i, letter);
            }
            sink.fill(0, size, (byte) '-');
            advertise(source, QueuePair.REMOTE_READ);
            advertise(sink, QueuePair.REMOTE_WRITE);
            Report.holds(
                    source.bytes().equals(sink.bytes()),
                    "round " + round + ": the data came back changed");
        }

        private void advertise(PolledMemory memory, int access) {
            int key = memory.expose(end.pair(), access);
            message.bytes()
                    .putLong(ADVERTISEMENT, end.pair().exposedOffset(key))
                    .putInt(ADVERTISEMENT + 8, key)
                    .putInt(ADVERTISEMENT + 12, size);
            send();
            takeMessage();
            receive(end);
            end.pair().invalidate(key);
        }

        /** Fetches the data and writes them back; false when the client has gone instead. */
        boolean answer() {
            if (!end.hasNext()) {
                return false;
            }
            takeMessage();
            int length = message.bytes().getInt(12);
            transfer(length, true);
            takeMessage();
            transfer(Math.min(length, message.bytes().getInt(12)), false);
            return true;
        }

        private void transfer(int length, boolean read) {
            Report.holds(length >= 0 && length <= size, "advertised length " + length);
            int before = end.completed();
            long address = message.bytes().getLong(0);
            int key = message.bytes().getInt(8);
            if (read) {
                end.read(sink, 0, length, address, key);
            } else {
                end.write(sink, 0, length, address, key);
            }
            end.await("completion", () -> end.completed() > before);
            receive(end);
            send();
        }
    }
}
