// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.rpcrdma.channel.SimulatedGroups;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * Carries a {@link SimulationPlan} out and checks it. Each call ends once, in time, with the right bytes or a typed
 * error; one that is not idempotent is executed once where there is a cache. Without losses each call is answered,
 * whatever rogues do on connections of their own. When the faults are over, each client is served again without
 * anything from outside; and at the end nothing is left.
 */
final class SimulatedWorld {

    /** The time-out of calls that may be lost. */
    static final long CALL_MILLIS = 20_000;

    /** The time-out of calls that are only delayed: more than all delays of a history. */
    private static final long DELAYED_CALL_MILLIS = 600_000;

    /** For what needs no reply. */
    private static final long PATIENCE_MILLIS = 120_000;

    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int LATE_CALLS = 3;

    /** Long enough that nobody should try as rarely as after each doubling of the first pause. */
    private static final int MOST_AWAY_MILLIS = 600_000;

    private static final int SHORT_CALL = 64;

    /** Most of what a connection may have at the same time, and pulled where Sends are short. */
    private static final int LONG_CALL = 130_000;

    private static final int LONG_REPLY = 60_000;

    /** The pause before an attempt would double with each of them, if replies did not count. */
    private static final int LOSSES_IN_A_ROW = 7;

    private static final long BACK_MILLIS = 3000;

    private static final int FIRST_CODEC_CALL = 1_000_000;

    /** Behind the end of all connections: memory that somebody has taken is given back by then. */
    private static final long MOST_TIMER_MILLIS = 5000;

    final SimulatedNetwork network;
    final SimulationPlan plan;
    final SimulationSettings settings;
    final long callMillis;
    private final List<SimulatedServer> servers = new ArrayList<>();
    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<SimulatedCall> calls = new ArrayList<>();
    private final SimulatedRogues rogues = new SimulatedRogues(this);
    private final RawRogues raw = new RawRogues(this);
    private final Map<Integer, byte[]> arguments = new HashMap<>();

    /** Which client has sent a call, by its number. */
    private final Map<Integer, String> callers = new HashMap<>();

    /** Numbers of calls that a server has executed. */
    private final Set<Integer> executed = new HashSet<>();

    /** The call of each XID that a client has used. */
    private final Map<String, Map<Integer, Integer>> xids = new HashMap<>();

    /** The newest XID of each call that a client has sent, and the connection that it has come on. */
    private final Map<Integer, Arrival> newest = new HashMap<>();

    /** XIDs of calls that a client was told errors of. */
    private final Map<String, Set<Integer>> refused = new HashMap<>();

    private final SimulatedStreams streams = new SimulatedStreams(this);

    /** By the number of the server that they call. */
    private final Map<Integer, SegmentedCaller> segments = new TreeMap<>();

    /** {@code null} for none. */
    private SimulatedCrowd crowd;

    private final long incompleteBefore = SimulatedGroups.incompleteBytes();
    private int codecCalls;
    private String wrong;

    SimulatedWorld(SimulatedNetwork network, SimulationPlan plan) {
        this.network = network;
        this.plan = plan;
        callMillis = plan.hasLosses() ? CALL_MILLIS : DELAYED_CALL_MILLIS;
        settings = new SimulationSettings(new Random(~plan.seed()), plan.hasLosses());
    }

    // ------------------------------------------------------------------ history

    /**
     * Runs the history.
     *
     * @throws AssertionError when something is wrong
     */
    void run() {
        network.note(plan + ", " + settings);
        network.afterEachStep(this::checkNow);
        for (int i = 0; i < plan.servers(); i++) {
            servers.add(new SimulatedServer(this, i, new Random(plan.seed() * 31 + i)));
            servers.get(i).start();
        }
        for (int i = 0; i < plan.clients(); i++) {
            SimulatedServer server = servers.get(i % plan.servers());
            clients.add(new SimulatedClient(this, i, server, new Random(plan.seed() * 37 + i)));
        }
        for (SimulationAction action : plan.actions()) {
            act(action, new Random(action.seed()));
            network.run(action.steps());
            checkConnections();
        }
        hosts().forEach(SimulatedHost::recover);
        servers.forEach(SimulatedServer::start);
        expect(
                "all calls end",
                () -> calls.stream().allMatch(SimulatedCall::isDone),
                3 * callMillis);
        expect(
                "connects end",
                () -> clients.stream().allMatch(SimulatedClient::isConnectOver),
                3 * callMillis);
        int kept = 0;
        for (SimulatedCall call : calls) {
            call.check(++kept % 4 == 0);
        }
        clients.forEach(client -> checkIsServed(client, SHORT_CALL, SHORT_CALL));
        clients.forEach(client -> checkIsServed(client, LONG_CALL, LONG_REPLY));
        boolean isAdmitted = clients.get(0).server.admitsAtOnce();
        if (plan.weather() == SimulationPlan.Weather.LOSSES && plan.seed() % 4 == 0 && isAdmitted) {
            checkComesBack(clients.get(0));
        }
        expect(
                "operations end",
                () -> clients.stream().allMatch(client -> client.options.isIdle()),
                // A half-open connection without calls of a client is nobody's to notice.
                plan.hasLosses() ? 0 : PATIENCE_MILLIS,
                plan.hasLosses());
        expect(
                "calls of the codec end",
                () -> clients.stream().allMatch(client -> client.codec.isIdle()),
                plan.hasLosses() ? 0 : PATIENCE_MILLIS,
                plan.hasLosses());
        expect(
                "calls in segments end",
                () -> segments.values().stream().allMatch(SegmentedCaller::isIdle),
                plan.hasLosses() ? 0 : PATIENCE_MILLIS,
                plan.hasLosses());
        expect("mistakes are answered", rogues::areAnswered, plan.hasLosses());
        raw.finish();
        checkRemains();
        if (crowd != null) {
            crowd.finish();
        }
        if (plan.hasStreams()) {
            streams.finish(clients, plan.hasLosses());
        }
        end();
    }

    /** Where each loss is seen, connections that live on have nothing of calls that are over. */
    private void checkRemains() {
        if (!plan.areLossesSeen()) {
            return;
        }
        expect("nothing is left", () -> remains().isEmpty(), true);
        if (!remains().isEmpty()) {
            throw new AssertionError("connections are left with calls that are over; " + remains());
        }
    }

    private String remains() {
        StringBuilder left = new StringBuilder();
        clients.forEach(client -> left.append(client.remains()));
        if (crowd == null && rogues.isQuiet()) {
            servers.forEach(server -> left.append(server.remains()));
        }
        return left.toString();
    }

    /** Whoever runs out of memory loses one connection, and no other one is lost. */
    private void checkOthers() {
        if (!plan.isShortOfMemory()
                || settings.hasDeadlines()
                || !rogues.isQuiet()
                || !raw.isEmpty()
                || !streams.deceived().isEmpty()) {
            return;
        }
        long lost = servers.stream().mapToLong(server -> server.host.context().lost()).sum();
        long failures = hosts().mapToLong(SimulatedHost::failures).sum();
        long closes = clients.stream().mapToLong(client -> client.codec.closes()).sum();
        closes += segments.values().stream().mapToLong(SegmentedCaller::closes).sum();
        closes += streams.closes();
        network.note("lost " + lost + ", failures " + failures + ", closes " + closes);
        if (lost > failures + closes) {
            throw new AssertionError(
                    lost + " connections are lost by " + failures + " lacks of memory");
        }
    }

    private void end() {
        checkConnections();
        checkOthers();
        clients.forEach(SimulatedClient::check);
        rogues.close();
        raw.close();
        if (crowd != null) {
            crowd.close();
        }
        clients.forEach(SimulatedClient::close);
        segments.values().forEach(SegmentedCaller::close);
        streams.close();
        // An event loop that ends does not wait for work, so it would poll until they are closed.
        expect("streams are closed", streams::isClosed, plan.hasLosses());
        calls.forEach(SimulatedCall::checkReply);
        hosts().forEach(SimulatedHost::recover);
        servers.forEach(SimulatedServer::close);
        expect(
                "no message has memory",
                () -> clients.stream().allMatch(client -> client.host.isEmpty()));
        expect(
                "no message of a server has memory",
                () -> servers.stream().allMatch(server -> server.host.isEmpty()));
        expect(
                "whoever closes a client is told",
                () -> clients.stream().allMatch(SimulatedClient::isClosed),
                PATIENCE_MILLIS);
        expect(
                "no timer of a client is left",
                () -> clients.stream().noneMatch(client -> client.host.hasTimers()),
                MOST_TIMER_MILLIS);
        expect(
                "no timer of a server is left",
                () -> servers.stream().noneMatch(server -> server.host.hasTimers()));
        checkConnections();
        servers.forEach(server -> server.host.shutdown());
        clients.forEach(client -> client.host.shutdown());
        rogues.shutdown();
        raw.shutdown();
        segments.values().forEach(each -> each.host.shutdown());
        streams.deceived().shutdown();
        if (crowd != null) {
            crowd.shutdown();
        }
        expect("all event loops end", () -> network.threadCount() == 0);
        streams.checkEnd();
        calls.forEach(SimulatedCall::checkLent);
        clients.forEach(SimulatedClient::checkEnd);
        clients.forEach(client -> client.codec.check());
        servers.forEach(SimulatedServer::check);
        hosts().map(SimulatedHost::problem)
                .filter(problem -> problem != null)
                .forEach(
                        problem -> {
                            throw new AssertionError(problem);
                        });
        if (SimulatedGroups.incompleteBytes() != incompleteBefore) {
            throw new AssertionError("addresses have bytes of messages that nobody sends");
        }
    }

    /** All but rogues. */
    Stream<SimulatedHost> hosts() {
        return Stream.of(
                        servers.stream().map(server -> server.host),
                        clients.stream().map(client -> client.host),
                        segments.values().stream().map(each -> each.host),
                        rogues.victims())
                .flatMap(each -> each);
    }

    // ------------------------------------------------------------------ actions

    private void act(SimulationAction action, Random random) {
        SimulatedClient client = clients.get(action.peer() % clients.size());
        SimulatedServer server = servers.get(action.peer() % servers.size());
        SimulatedHost host = random.nextBoolean() ? server.host : client.host;
        List<SimulatedConnection> open = network.connections();
        SimulatedConnection connection =
                open.isEmpty() ? null : open.get(action.peer() % open.size());
        boolean isForward = random.nextBoolean();
        long until = network.nanoTime() + random.nextInt(SimulatedFaults.MOST_MILLIS) * MILLI;
        switch (action.kind()) {
            case CALL -> {
                for (int i = random.nextInt(3); i >= 0; i--) {
                    calls.add(SimulatedCall.of(this, nextNumber(), client, random));
                }
            }
            case CANCEL -> cancel(random);
            case REVERSE_CALL -> {
                RpcRdmaReverseRequester callback = client.server.callbacks.get(client.number);
                if (callback != null) {
                    calls.add(SimulatedCall.reverse(this, nextNumber(), callback, random));
                }
            }
            case OPTION -> {
                if (settings.hasVersionTwo()) {
                    client.options.call();
                }
            }
            case CODEC -> client.codec.act(random);
            case SEGMENTS ->
                    segments.computeIfAbsent(
                                    server.number(),
                                    any -> new SegmentedCaller(this, server, random))
                            .act();
            case CONNECT -> client.connect();
            case STREAM -> streams.act(client, random);
            case ROGUE -> rogues.act(server, random, calls);
            case RAW -> {
                if (raw.act(host, random) == RawAttack.NO_RECEIVE) {
                    client.expectUnderruns();
                    server.expectUnderruns();
                }
            }
            case ROGUE_STREAM -> streams.deceived().act(client, server, random);
            case CROWD -> {
                crowd = new SimulatedCrowd(this, server, action.steps());
                crowd.begin();
            }
            case JUMP -> {
                network.note("time passes");
                network.advance(random.nextInt(SimulatedFaults.MOST_MILLIS) * MILLI);
            }
            case PAUSE -> {
                int thread = random.nextInt(servers.size() + clients.size());
                network.note("thread " + thread + " pauses");
                network.pause(thread, until);
            }
            case REFUSE -> {
                network.note(host + " will refuse");
                SimulatedFaults.refuse(host, random);
            }
            case EXHAUST -> {
                network.note(host + " will have no memory");
                SimulatedFaults.exhaust(host, random);
            }
            case RESTART_CLIENT -> {
                calls.forEach(SimulatedCall::excuse);
                client.restart();
            }
            case RESTART_SERVER -> {
                server.stop();
                network.run(random.nextInt(200));
                if (random.nextInt(4) == 0) {
                    network.note(server + " is away");
                    network.runUntil(() -> false, random.nextInt(MOST_AWAY_MILLIS) * MILLI);
                }
                server.start();
            }
            default -> {
                if (connection != null) {
                    network.note(connection + ": " + action.kind());
                    SimulatedFaults.disturb(action.kind(), connection, isForward, until, random);
                }
            }
        }
    }

    private void cancel(Random random) {
        List<SimulatedCall> out = calls.stream().filter(call -> !call.isDone()).toList();
        if (!out.isEmpty()) {
            // The oldest of a client is often the head of a queue.
            out.get(random.nextInt(Math.min(4, out.size()))).cancel();
        }
    }

    int nextNumber() {
        // Those of the clients' own announcements come before.
        return 100 + calls.size();
    }

    // ------------------------------------------------------------------ checks

    /** Remembers the first thing that is wrong, which ends the history. Event loops may call. */
    void wrong(String what) {
        network.note("WRONG: " + what);
        if (wrong == null) {
            wrong = what;
        }
    }

    /** What ended connections leave behind, and what those that live count. */
    private void checkConnections() {
        hosts().forEach(
                        host -> {
                            String timer = host.timerOfEnded();
                            if (timer != null) {
                                throw new AssertionError("timers of what has ended: " + timer);
                            }
                            Channel counted = host.countedForNothing();
                            if (counted != null) {
                                throw new AssertionError(
                                        host + " counts bytes of whole messages: " + counted);
                            }
                        });
    }

    private void checkFlushed(SimulatedHost host) {
        Channel unflushed = host.unflushed();
        if (unflushed != null) {
            throw new AssertionError(host + " waits, and has not flushed: " + unflushed);
        }
    }

    private void checkNow() {
        if (wrong != null) {
            throw new AssertionError(wrong);
        }
        for (SimulatedServer server : servers) {
            checkFlushed(server.host);
        }
        for (SimulatedClient client : clients) {
            checkFlushed(client.host);
        }
        for (SimulatedClient client : clients) {
            client.codec.checkNow();
        }
        streams.checkNow();
        if (crowd != null) {
            crowd.checkNow();
        }
    }

    /** The number of a call of the codec alone, and its XID. */
    int nextCodecCall() {
        return FIRST_CODEC_CALL + codecCalls++;
    }

    /** A client was told an error by the XID of its call, which it may send again by another one. */
    void refused(String caller, int xid) {
        refused.computeIfAbsent(caller, any -> new HashSet<>()).add(xid);
    }

    /**
     * An XID names one call of one client for ever: else the cache of a server may answer with an older reply. And a
     * call keeps it, on whatever connection it is sent, until it is refused (RFC 8166, 4.5.5). What was sent on a lost
     * connection may come later than what has followed it on the next one.
     */
    void arrives(int number, int xid, Channel connection) {
        executed.add(number);
        String caller = callers.get(number);
        Arrival other = caller == null ? null : newest.get(number);
        boolean isOther = other != null && other.xid != xid;
        boolean isLate = isOther && other.connection != connection && isRefused(caller, xid);
        if (isOther && !isLate && !isRefused(caller, other.xid)) {
            wrong("call " + number + " of " + caller + " has XID " + other.xid + " and " + xid);
        }
        if (isOther && !isLate && isRefused(caller, xid)) {
            wrong("call " + number + " of " + caller + " has XID " + xid + " again");
        }
        if (!isLate) {
            newest.put(number, new Arrival(xid, connection));
        }
        Integer before =
                caller == null
                        ? null
                        : xids.computeIfAbsent(caller, any -> new HashMap<>())
                                .putIfAbsent(xid, number);
        if (before != null && before != number) {
            wrong(caller + " has used XID " + xid + " of call " + before + " for " + number);
        }
    }

    private record Arrival(int xid, Channel connection) {}

    private boolean isRefused(String caller, int xid) {
        return refused.getOrDefault(caller, Set.of()).contains(xid);
    }

    /** Whether a server has executed a call. */
    boolean isExecuted(int number) {
        return executed.contains(number);
    }

    void sentBy(int number, String caller) {
        callers.put(number, caller);
    }

    void expectArguments(int number, byte[] bytes) {
        arguments.put(number, bytes);
    }

    /** Whether a call has arrived as it was sent; true for what no client of this world has sent. */
    boolean isRight(int number, byte[] came) {
        byte[] sent = arguments.get(number);
        return sent == null || Arrays.equals(sent, came);
    }

    /**
     * A silent connection costs the calls on it. Those that are submitted later go out on another one. Where memory
     * alone was lacking, and is there again, the first one is answered.
     */
    private void checkIsServed(SimulatedClient client, int length, int wanted) {
        for (int i = plan.isShortOfMemory() ? 1 : LATE_CALLS; i > 0; i--) {
            SimulatedCall call = SimulatedCall.plain(this, nextNumber(), client, length, wanted);
            calls.add(call);
            expect(call + " ends", call::isDone, 2 * callMillis);
            call.check(false);
            if (call.isSuccess()) {
                return;
            }
        }
        throw new AssertionError(
                client + " is not served any more with calls of " + length + " bytes");
    }

    /** Whoever was answered connects again at once, as often as connections are lost. */
    private void checkComesBack(SimulatedClient client) {
        for (int i = 0; i < LOSSES_IN_A_ROW && client.loseConnections(); i++) {
            SimulatedCall call =
                    SimulatedCall.plain(this, nextNumber(), client, SHORT_CALL, SHORT_CALL);
            calls.add(call);
            expect(call + " behind loss " + i + " ends", call::isDone, BACK_MILLIS);
            call.check(false);
            if (!call.isSuccess()) {
                throw new AssertionError(call + " behind loss " + i + " fails");
            }
        }
    }

    SimulatedStreams streams() {
        return streams;
    }

    void expect(String what, BooleanSupplier condition) {
        expect(what, condition, PATIENCE_MILLIS);
    }

    void expect(String what, BooleanSupplier condition, boolean isOptional) {
        expect(what, condition, PATIENCE_MILLIS, isOptional);
    }

    private void expect(String what, BooleanSupplier condition, long millis) {
        expect(what, condition, millis, false);
    }

    private void expect(String what, BooleanSupplier condition, long millis, boolean isOptional) {
        boolean isSo;
        try {
            isSo = network.runUntil(condition, millis * MILLI);
        } catch (AssertionError e) {
            if (wrong != null) {
                throw new AssertionError(wrong, e);
            }
            throw e;
        }
        if (!isSo && !isOptional) {
            StringBuilder state = new StringBuilder();
            calls.stream()
                    .filter(call -> !call.isDone())
                    .forEach(call -> state.append("; not ended: ").append(call));
            clients.forEach(client -> state.append("; ").append(client.rpc));
            state.append(streams.state());
            throw new AssertionError("not so: " + what + state);
        }
        checkNow();
    }
}
