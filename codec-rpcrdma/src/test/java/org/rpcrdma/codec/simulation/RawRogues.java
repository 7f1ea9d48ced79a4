// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Connections of {@link RawIwarpRogue} to queue pairs on the hosts of a world. Each has to end as the documents say,
 * with no byte of memory changed or read that was not exposed.
 */
final class RawRogues {

    private static final int MOST = 8;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    /** Ends that are counted, and how. */
    private static final Map<RawAttack.End, DeviceCounter> COUNTED =
            new EnumMap<>(
                    Map.of(
                            RawAttack.End.STALLED, DeviceCounter.CONNECTIONS_STALLED,
                            RawAttack.End.BY_PEER, DeviceCounter.TERMINATES_RECEIVED,
                            RawAttack.End.LOST, DeviceCounter.CONNECTIONS_LOST,
                            RawAttack.End.TERMINATED, DeviceCounter.TERMINATES_SENT,
                            RawAttack.End.START_TIMED_OUT, DeviceCounter.STARTUPS_TIMED_OUT));

    private final SimulatedWorld world;
    private final List<RawConnection> connections = new ArrayList<>();

    /** All keys that the devices of hosts have given. */
    private final Map<SimulatedHost, Set<Integer>> keys = new HashMap<>();

    /** {@code null} before the first one. */
    private RawIwarpRogue rogue;

    RawRogues(SimulatedWorld world) {
        this.world = world;
    }

    boolean isEmpty() {
        return connections.isEmpty();
    }

    /** Begins a connection to a host; returns the rule that it will break. */
    RawAttack act(SimulatedHost host, Random random) {
        if (connections.size() == MOST) {
            return RawAttack.NONE;
        }
        if (rogue == null) {
            rogue = new RawIwarpRogue(world);
        }
        int number = connections.size();
        RawAttack[] all = RawAttack.values();
        RawAttack attack = all[random.nextInt(all.length)];
        boolean responds = attack.needsResponder() || (!attack.isSurplus() && random.nextBoolean());
        RawConnection connection =
                new RawConnection(world, number, attack, responds, random.nextLong());
        RawVictim victim =
                new RawVictim(
                        world,
                        host,
                        number,
                        new Random(random.nextLong()),
                        connection,
                        keys.computeIfAbsent(host, any -> new HashSet<>()));
        connection.victim = victim;
        connections.add(connection);
        world.network.note(connection + " at " + host);
        if (responds) {
            rogue.listen(connection, number, () -> host.group.next().execute(victim::connect));
        } else {
            host.group.next().execute(() -> victim.listen(() -> rogue.connect(connection, number)));
        }
        return attack;
    }

    // ------------------------------------------------------------------ the end

    /** Waits until each has ended, and looks how. */
    void finish() {
        if (rogue == null) {
            return;
        }
        world.expect("raw connections end", this::areOver, world.plan.hasLosses());
        if (!world.plan.isCalm()) {
            return;
        }
        connections.forEach(this::check);
        COUNTED.forEach(this::checkCounted);
        world.hosts().forEach(this::checkCrcErrors);
        world.hosts().forEach(this::checkRefused);
    }

    private boolean areOver() {
        return connections.stream().allMatch(one -> one.isOver() && isVictimOver(one));
    }

    /** The victim is told of an end or a failure behind its peer. */
    private static boolean isVictimOver(RawConnection one) {
        RawVictim victim = one.victim;
        if (victim.isOver || victim.hasFailed) {
            return true;
        }
        boolean isOpen =
                one.expected() != null
                        && one.expected() != RawAttack.End.ANY
                        && !isStart(one.expected());
        return !victim.isConnected && !one.isResponder() && !isOpen;
    }

    private static boolean isStart(RawAttack.End end) {
        return end == RawAttack.End.NOT_STARTED || end == RawAttack.End.START_TIMED_OUT;
    }

    private void check(RawConnection one) {
        RawVictim victim = one.victim;
        RawAttack.End expected = one.expected();
        String terminate = one.terminate();
        if (one.mayEndEarly() && terminate != null && terminate.startsWith("0100")) {
            return;
        }
        if (expected == null || expected == RawAttack.End.ANY) {
            if (terminate != null && !terminate.equals(one.expectedTerminate())) {
                one.wrong("ends by Terminate " + terminate);
            }
            return;
        }
        boolean isFailure = victim.cause != null;
        if (isStart(expected)) {
            if (victim.isConnected || (one.isResponder() && !victim.hasFailed)) {
                one.wrong("is connected");
            }
        } else if (!victim.isOver) {
            one.wrong("does not end");
        } else if (isFailure == isOrderly(expected)) {
            one.wrong("ends by " + victim.cause + ", not " + expected);
        }
        String control = one.expectedTerminate();
        if (control == null ? terminate != null : !control.equals(terminate)) {
            one.wrong("ends by Terminate " + terminate + ", not " + control);
        }
        checkTime(one, expected);
        checkStatus(one);
    }

    private static boolean isOrderly(RawAttack.End end) {
        return end == RawAttack.End.ORDERLY || end == RawAttack.End.LEFT;
    }

    private static void checkTime(RawConnection one, RawAttack.End expected) {
        long seconds = one.nanosToTheEnd() / SECOND;
        boolean isInTime =
                switch (expected) {
                    case STALLED -> seconds >= 29 && seconds <= 39;
                    // An end that has connected is more patient than one that listens.
                    case START_TIMED_OUT -> seconds / 5 == (one.isResponder() ? 2 : 1);
                    // Twice the drain time-out, or thrice where bytes were taken meanwhile.
                    case LEFT -> one.victim.overAt - one.lastSent() <= 7 * SECOND;
                    default -> true;
                };
        if (!isInTime) {
            one.wrong("is given up after " + seconds + " s");
        }
    }

    private static void checkStatus(RawConnection one) {
        RawVictim victim = one.victim;
        if (one.attack() == RawAttack.TERMINATE_READ
                && one.expected() == RawAttack.End.BY_PEER
                && victim.firstFailure != WorkStatus.REMOTE_ACCESS_ERROR) {
            one.wrong("a Read that is refused ends as " + victim.firstFailure);
        }
        WorkStatus expected =
                one.attack().isTooLong() ? WorkStatus.LOCAL_LENGTH_ERROR : WorkStatus.FLUSHED;
        if (victim.firstReceiveFailure != null && victim.firstReceiveFailure != expected) {
            one.wrong("a receive ends as " + victim.firstReceiveFailure);
        }
    }

    private void checkCounted(RawAttack.End end, DeviceCounter counter) {
        world.hosts()
                .forEach(
                        host -> {
                            long least =
                                    connections.stream()
                                            .filter(one -> one.victim.host == host)
                                            .filter(one -> one.expected() == end)
                                            .filter(one -> !one.mayEndEarly())
                                            .count();
                            long counted = host.context().value(counter);
                            if (counted < least) {
                                world.wrong(
                                        host
                                                + " counts "
                                                + counted
                                                + " of "
                                                + counter
                                                + ", not "
                                                + least);
                            }
                        });
    }

    private void checkCrcErrors(SimulatedHost host) {
        long errors =
                connections.stream()
                        .filter(one -> one.victim.host == host)
                        .filter(one -> "20020000".equals(one.terminate()))
                        .count();
        if (host.context().value(DeviceCounter.CRC_ERRORS) != errors) {
            world.wrong(host + " does not count " + errors + " wrong CRCs");
        }
        long bytes =
                connections.stream()
                        .filter(one -> one.victim.host == host)
                        .mapToLong(RawConnection::writtenBytes)
                        .sum();
        if (host.context().value(DeviceCounter.BYTES_IN) < bytes) {
            world.wrong(host + " has not counted " + bytes + " bytes");
        }
    }

    private void checkRefused(SimulatedHost host) {
        long refused =
                connections.stream()
                        .filter(one -> one.victim.host == host)
                        .filter(one -> one.attack().isRefused(one.isResponder()))
                        .count();
        if (host.context().value(DeviceCounter.STARTUPS_REFUSED) < refused) {
            world.wrong(host + " has not counted " + refused + " start-ups that it has refused");
        }
    }

    void close() {
        if (rogue != null) {
            connections.forEach(one -> one.victim.host.group.next().execute(one.victim::close));
        }
    }

    void shutdown() {
        if (rogue != null) {
            rogue.close();
        }
    }
}
