// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * A device against four tools of {@code perftest}, both roles, without RPC. A tool opens a connection for
 * {@linkplain PerftestControl what its two ends tell each other} and another one to the same port for the test.
 *
 * <pre>
 * Perftest cases [DEVICE]           prints a line for each case: tool, size, repetitions, receives, the tool's roles
 *                                   (server or both), name of the configuration
 * Perftest client [HOST:]PORT...    the client of each case; there the tool waits, or will soon
 * Perftest server [HOST:]PORT...    the server of each case with both roles, in their order
 * </pre>
 */
public final class Perftest {

    private enum Tool {
        IB_SEND_LAT,
        IB_SEND_BW,
        IB_WRITE_BW,
        IB_READ_BW;

        boolean sends() {
            return this == IB_SEND_LAT || this == IB_SEND_BW;
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private record Case(
            Tool tool,
            int size,
            int repetitions,
            boolean reversed,
            String configuration,
            VerbsProvider device) {

        String what() {
            return tool + ", " + size + " bytes: " + configuration;
        }

        /** Small messages wander through the cycle buffer, by a cache line each. */
        int slots() {
            return tool != Tool.IB_SEND_LAT && size <= LINE ? CYCLE_BUFFER / LINE : 1;
        }

        int slot(int repetition) {
            return repetition % slots() * LINE;
        }
    }

    private static final int CYCLE_BUFFER = 4096;
    private static final int LINE = 64;
    private static final int[] SIZES = {2, 4096, 65536, 1 << 20};
    private static final int[] REPETITIONS = {200, 100, 50, 10};

    /** So few that the credits of ib_send_bw count: nothing else keeps a sender from hitting an empty receive queue. */
    private static final int RECEIVES = 8;

    private static final int OUTSTANDING = 8;
    private static final byte UNTOUCHED = '-';

    private static final QueuePairConfig CONTROL = new QueuePairConfig(1, 1, 1, 1);
    private static final QueuePairConfig DATA =
            new QueuePairConfig(256, RECEIVES, OUTSTANDING, OUTSTANDING);

    private final Case test;
    private final boolean client;
    private final EventLoopVerbsContext context;
    private final PolledMemory receives;
    private final PolledMemory source;
    private final byte[][] seen;
    private PolledEnd data;

    private Perftest(Case test, boolean client, EventLoopVerbsContext context) {
        this.test = test;
        this.client = client;
        this.context = context;
        receives = new PolledMemory(context, Math.max(RECEIVES, OUTSTANDING) * test.size());
        source = new PolledMemory(context, Math.max(test.size(), CYCLE_BUFFER));
        seen = new byte[test.slots()][];
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(run(arguments) == 0 ? 0 : 1);
    }

    /** The checks that have failed. */
    static int run(String[] arguments) throws Exception {
        boolean named = arguments[0].equals("cases") && arguments.length > 1;
        List<Case> cases =
                cases(named ? Collections.singletonMap(arguments[1], null) : Devices.all());
        Report report = new Report(System.out);
        if (arguments[0].equals("cases")) {
            cases.forEach(Perftest::print);
        } else if (arguments[0].equals("client")) {
            int next = 1;
            for (Case test : cases) {
                InetSocketAddress server = Devices.address(arguments[next++]);
                report.check("client of " + test.what(), () -> connect(test, server));
            }
        } else {
            List<Listening> listening = new ArrayList<>();
            int next = 1;
            for (Case test : cases) {
                if (test.reversed()) {
                    listening.add(new Listening(test, Devices.address(arguments[next++])));
                }
            }
            System.out.println("READY");
            listening.forEach(l -> report.check("server of " + l.test.what(), l::serve));
        }
        return report.failed();
    }

    /**
     * Each tool has each size and each configuration once; half of the cases are played in both roles, for the sake
     * of time. With a single configuration each tool has one size, in both roles.
     */
    private static List<Case> cases(Map<String, VerbsProvider> with) {
        List<Map.Entry<String, VerbsProvider>> devices = List.copyOf(with.entrySet());
        boolean single = devices.size() == 1;
        List<Case> cases = new ArrayList<>();
        int shift = 0;
        for (Tool tool : Tool.values()) {
            for (int i = 0; i < SIZES.length; i++) {
                if (single && i != shift) {
                    continue;
                }
                Map.Entry<String, VerbsProvider> device = devices.get((shift + i) % devices.size());
                cases.add(
                        new Case(
                                tool,
                                SIZES[i],
                                REPETITIONS[i],
                                single || i % 2 != shift / 2,
                                device.getKey(),
                                device.getValue()));
            }
            shift++;
        }
        return cases;
    }

    private static void print(Case test) {
        System.out.println(
                String.join(
                        " ",
                        test.tool().toString(),
                        Integer.toString(test.size()),
                        Integer.toString(test.repetitions()),
                        Integer.toString(RECEIVES),
                        test.reversed() ? "both" : "server",
                        test.configuration()));
    }

    private static void connect(Case test, InetSocketAddress server) throws IOException {
        try (EventLoopVerbsContext context = test.device().open()) {
            Perftest end = new Perftest(test, true, context);
            PerftestControl control =
                    new PerftestControl(
                            context,
                            true,
                            prepare -> PolledEnd.connect(context, CONTROL, server, prepare));
            end.run(control, prepare -> PolledEnd.connect(context, DATA, server, prepare));
        }
    }

    /** A server of one case that has not been asked yet. */
    private static final class Listening implements ListenerHandler {

        private final Case test;
        private final EventLoopVerbsContext context;
        private final Deque<ConnectionRequest> requests = new ArrayDeque<>();

        Listening(Case test, InetSocketAddress address) throws IOException {
            this.test = test;
            context = test.device().open();
            context.listen(address, 2, this);
        }

        void serve() throws IOException {
            try (context) {
                Perftest end = new Perftest(test, false, context);
                PerftestControl control =
                        new PerftestControl(
                                context,
                                false,
                                prepare -> PolledEnd.accept(context, CONTROL, request(), prepare));
                end.run(control, prepare -> PolledEnd.accept(context, DATA, request(), prepare));
            }
        }

        private ConnectionRequest request() {
            PolledEnd.await(context, "connection request", () -> !requests.isEmpty());
            return requests.remove();
        }

        @Override
        public void connectionRequested(ConnectionRequest request) {
            requests.add(request);
        }

        @Override
        public void acceptFailed(Throwable cause) {
            throw new IllegalStateException(cause);
        }
    }

    private void run(PerftestControl control, PerftestControl.Opener<IOException> opener)
            throws IOException {
        control.introduce(CYCLE_BUFFER);
        control.handShake(PerftestControl.Place.NONE);
        data = opener.open(this::postReceives);
        control.handShake(PerftestControl.Place.NONE);

        PolledMemory target = target();
        target.fill(0, target.bytes().capacity(), UNTOUCHED);
        PerftestControl.Place mine = expose(target);
        PerftestControl.Place theirs = control.handShake(mine);
        int more = test.tool().sends() ? 3 : 2;
        for (int i = 0; i < more; i++) {
            control.handShake(mine);
        }
        switch (test.tool()) {
            case IB_SEND_LAT -> sendAndReceive();
            case IB_SEND_BW -> sendOrReceive(target, theirs);
            default -> {
                if (client) {
                    writeOrRead(theirs);
                    if (test.tool() == Tool.IB_WRITE_BW && Devices.IWARP) {
                        awaitPlacement(theirs);
                    }
                }
                control.handShake(mine);
                control.report(test.size(), test.repetitions());
            }
        }
        control.handShake(mine);
        if (client) {
            data.disconnect();
        } else {
            data.awaitDisconnected();
        }
        control.awaitEnd();
        if (test.tool() == Tool.IB_WRITE_BW && !client) {
            checkWritten(target);
        }
    }

    private void postReceives(PolledEnd end) {
        for (int i = 0; i < RECEIVES; i++) {
            end.postReceive(receives, i * test.size(), test.size());
        }
    }

    /** What the peer may reach: the count of credits in the native order of the tool's machine, or the data. */
    private PolledMemory target() {
        PolledMemory target =
                new PolledMemory(
                        context, test.tool().sends() ? 4 : Math.max(test.size(), CYCLE_BUFFER));
        target.bytes().order(ByteOrder.LITTLE_ENDIAN);
        return target;
    }

    private PerftestControl.Place expose(PolledMemory target) {
        int access =
                test.tool() == Tool.IB_READ_BW ? QueuePair.REMOTE_READ : QueuePair.REMOTE_WRITE;
        int key = target.expose(data.pair(), access);
        return new PerftestControl.Place(key, data.pair().exposedOffset(key));
    }

    /** The client sends first, and each message is answered. */
    private void sendAndReceive() {
        for (int i = 0; i < test.repetitions(); i++) {
            if (client) {
                data.send(source, 0, test.size());
            }
            receive(i);
            if (!client) {
                data.send(source, 0, test.size());
            }
            int sent = i + 1;
            data.await("completion", () -> data.completed() == sent);
        }
    }

    private void receive(int repetition) {
        Report.same("length of message " + repetition, test.size(), data.take());
        int at = repetition % RECEIVES * test.size();
        checkAgain(repetition, at);
        data.postReceive(receives, at, test.size());
    }

    /**
     * The client sends, but over iWARP never more than the server has told that it has taken, plus its receives. The
     * server tells it by RDMA Writes.
     */
    private void sendOrReceive(PolledMemory credits, PerftestControl.Place theirs) {
        int last = 0;
        if (client) {
            credits.bytes().putInt(0, 0);
            for (int i = 0; i < test.repetitions(); i++) {
                int sent = i;
                data.await(
                        "credit",
                        () -> !Devices.IWARP || sent + 1 - credits.bytes().getInt(0) < RECEIVES);
                data.send(source, 0, test.size());
            }
            for (int i = 1; i <= test.repetitions(); i++) {
                last = isTold(i) ? i : last;
            }
            int expected = last;
            data.await("last credit", () -> credits.bytes().getInt(0) == expected);
            data.await("completion", () -> data.completed() == test.repetitions());
        } else {
            PolledMemory counts = new PolledMemory(context, 4 * (test.repetitions() + 1));
            counts.bytes().order(ByteOrder.LITTLE_ENDIAN);
            int told = 0;
            for (int i = 1; i <= test.repetitions(); i++) {
                receive(i - 1);
                if (isTold(i)) {
                    counts.bytes().putInt(4 * i, i);
                    data.write(counts, 4 * i, 4, theirs.address(), theirs.key());
                    told++;
                }
            }
            int expected = told;
            data.await("completion", () -> data.completed() == expected);
        }
    }

    /** The tool's rhythm of credits. */
    private static boolean isTold(int count) {
        return Devices.IWARP && count % RECEIVES % (RECEIVES / 3) == 0;
    }

    private void writeOrRead(PerftestControl.Place theirs) {
        int completed = 0;
        int posted = 0;
        while (completed < test.repetitions()) {
            while (posted < test.repetitions() && posted - completed < OUTSTANDING) {
                long address = theirs.address() + test.slot(posted);
                if (test.tool() == Tool.IB_WRITE_BW) {
                    data.write(source, test.slot(posted), test.size(), address, theirs.key());
                } else {
                    int at = posted % OUTSTANDING * test.size();
                    data.read(receives, at, test.size(), address, theirs.key());
                }
                posted++;
            }
            int before = completed;
            data.await("completion", () -> data.completed() > before);
            if (test.tool() == Tool.IB_READ_BW) {
                checkAgain(completed, completed % OUTSTANDING * test.size());
            }
            completed++;
        }
    }

    /**
     * A Write is complete when TCP has it. The tool destroys its queue pair as soon as it is told that the test is
     * over; if Writes are still on their way to it, then the connection is reset. The Response to a Read says that they
     * have arrived. Behind other Reads it would not do: soft-iWARP has been seen to answer an empty one with as much as
     * the one before.
     */
    private void awaitPlacement(PerftestControl.Place theirs) {
        int before = data.completed();
        data.read(receives, 0, 0, theirs.address(), theirs.key());
        data.await("answer", () -> data.completed() > before);
    }

    /** The tool's data are random, but they stay: what comes from a slot again is what came from it before. */
    private void checkAgain(int repetition, int at) {
        ByteBuffer now = receives.slice(at, test.size());
        int slot = test.slot(repetition) / LINE;
        if (seen[slot] == null) {
            seen[slot] = new byte[test.size()];
            now.get(0, seen[slot]);
        }
        int different = now.mismatch(ByteBuffer.wrap(seen[slot]));
        Report.holds(different < 0, "message " + repetition + " differs at byte " + different);
        receives.fill(at, test.size(), UNTOUCHED);
    }

    private void checkWritten(PolledMemory target) {
        int written = 0;
        for (int i = 0; i < target.bytes().capacity(); i++) {
            boolean inSlot = (test.slots() > 1 ? i % LINE : i) < test.size();
            if (inSlot) {
                written += target.bytes().get(i) == UNTOUCHED ? 0 : 1;
            } else {
                Report.same("byte " + i + ", not written to", UNTOUCHED, target.bytes().get(i));
            }
        }
        // A random byte may well be this one.
        Report.holds(
                written > test.slots() * test.size() / 2,
                "only " + written + " bytes were written");
    }
}
