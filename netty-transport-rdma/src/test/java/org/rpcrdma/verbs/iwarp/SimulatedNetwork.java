// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.SimulatedThreads.SimulatedThread;

/**
 * A host of software RNICs in a deterministic simulation: event loops that run one at a time, a virtual clock, and TCP
 * connections in memory. The RNIC and all above it run unchanged. The seed determines the whole history.
 *
 * <p>A history is a sequence of steps. Each step is one of those possible, at random: a thread runs until it selects
 * again, a connection delivers some bytes, a connection attempt ends. Where none is possible, the clock goes on to the
 * next deadline.
 *
 * <p>The methods are for the thread of the test, and for event loops where their description says so.
 */
public final class SimulatedNetwork extends SelectorProvider implements IwarpHost {

    private static final int SEGMENT = 1460;

    /** What a connection of an even network has in flight at most: Linux lets buffers grow to as much. */
    private static final int EVEN_CAPACITY = 4 << 20;

    /** Chooses the last of what is possible, always. */
    private static final class LastChoice extends Random {

        @Override
        public int nextInt(int bound) {
            return bound - 1;
        }
    }

    /** More than any condition takes that is met at all. */
    private static final int MAX_STEPS = 200_000;

    /** As long as an event loop polls at most: shorter ones are rounds without work, of which there are enough. */
    private static final int MOST_POLL_NANOS = 50_000;

    private static final long SYN_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A SYN in flight. */
    private record Attempt(
            SimulatedSocket socket, InetSocketAddress from, InetSocketAddress to, long due) {}

    final SimulatedThreads threads = new SimulatedThreads(this::schedule);
    private final long seed;
    private final Random random;
    private final Random numbers;
    private final boolean isEven;
    private final Map<Integer, SimulatedListener> listeners = new HashMap<>();
    private final List<Attempt> attempts = new ArrayList<>();
    private final List<SimulatedConnection> connections = new ArrayList<>();

    /** Those of them that can have a step still, in the same order. */
    private final List<SimulatedConnection> active = new ArrayList<>();

    private final Map<Integer, Long> pausedUntil = new HashMap<>();
    private final StringBuilder events = new StringBuilder();
    private final boolean isRecorded;

    /** The steps that are possible: threads, directions of connections and attempts. */
    private final List<Object> possible = new ArrayList<>();

    /** When another step becomes possible. */
    private long nextDeadline;

    private BooleanSupplier goal;
    private long end;
    private long stepsLeft;
    private long now = TimeUnit.SECONDS.toNanos(1);
    private int nextPort = 40_000;
    private int established;
    private long steps;
    private long hash = 1;
    private Runnable check = () -> {};

    /**
     * A network without connections.
     *
     * @param seed of the history
     * @param isRecorded whether {@link #events} are kept
     */
    public SimulatedNetwork(long seed, boolean isRecorded) {
        this(seed, isRecorded, new Random(seed), false);
    }

    private SimulatedNetwork(long seed, boolean isRecorded, Random random, boolean isEven) {
        this.seed = seed;
        this.isRecorded = isRecorded;
        this.random = random;
        this.numbers = new Random(~seed);
        this.isEven = isEven;
    }

    /**
     * {@return a network without chance} What is sent arrives at once and whole, each thread runs until it waits, and
     * what is done does not depend on how many steps were taken before: for measurements.
     */
    public static SimulatedNetwork even() {
        return new SimulatedNetwork(0, false, new LastChoice(), true);
    }

    /** {@return the seed of the history} */
    public long seed() {
        return seed;
    }

    /**
     * {@return the software RNIC of this host, over TCP alone}
     *
     * @param template of the configuration of its contexts
     */
    public VerbsProvider provider(IwarpConfig template) {
        return provider(template, DirectMemoryBudget.jvm());
    }

    /**
     * {@return the software RNIC of a host with memory of its own}
     *
     * @param template of the configuration of its contexts
     * @param budget of the memory of its streams
     */
    public VerbsProvider provider(IwarpConfig template, DirectMemoryBudget budget) {
        IwarpConfig config = template.toBuilder().sharedMemory(false).build();
        return new VerbsProvider() {
            @Override
            public String name() {
                return IwarpProvider.NAME;
            }

            @Override
            public int priority() {
                return 0;
            }

            @Override
            public Throwable unavailabilityCause() {
                return null;
            }

            @Override
            public EventLoopVerbsContext open() throws IOException {
                return new IwarpContext(config, SimulatedNetwork.this, budget);
            }
        };
    }

    /** {@return what creates the threads of event loops; they are numbered from 0} */
    public Executor executor() {
        return threads;
    }

    /** {@return how many threads have not ended} */
    public int threadCount() {
        return threads.alive().size();
    }

    /** {@return the connections that were not reset} */
    public List<SimulatedConnection> connections() {
        connections.removeIf(SimulatedConnection::isReset);
        return connections;
    }

    // ------------------------------------------------------------------ history

    /** {@return a hash of all steps and notes so far} */
    public long hash() {
        return hash;
    }

    /** {@return the notes and deliveries with their times, one a line, if they are recorded} */
    public String events() {
        return events.toString();
    }

    /** Adds a line to the history. Event loops may call. */
    public void note(String line) {
        hash = hash * 31 + line.hashCode();
        if (isRecorded) {
            events.append(String.format("%,15d us  %s%n", now / 1000, line));
        }
    }

    /** {@return how many steps were taken} */
    public long steps() {
        return steps;
    }

    /** Checks something whenever a thread has run; what it throws ends the history. */
    public void afterEachStep(Runnable action) {
        check = action;
    }

    // ------------------------------------------------------------------ steps

    /** Moves the clock on without a step: to the event loops, a pause of the whole host. */
    public void advance(long nanos) {
        now += nanos;
    }

    /** Does not run an event loop's thread before a time of {@link #nanoTime}. */
    public void pause(int thread, long until) {
        pausedUntil.put(thread, until);
    }

    /**
     * Takes steps until a condition is met.
     *
     * @param condition on what threads do, evaluated whenever one has run
     * @param nanos of the virtual clock, at most
     * @return whether the condition is met; {@code false} when no further step is possible, or the time is over
     */
    public boolean runUntil(BooleanSupplier condition, long nanos) {
        goal = condition;
        end = now + nanos;
        stepsLeft = MAX_STEPS;
        threads.run();
        if (stepsLeft < 0) {
            throw new AssertionError("not idle after " + MAX_STEPS + " steps");
        }
        return condition.getAsBoolean();
    }

    /** Takes so many steps, or as many as are possible. */
    public void run(int steps) {
        goal = () -> false;
        end = Long.MAX_VALUE;
        stepsLeft = steps;
        threads.run();
    }

    /** Takes the steps of the network until a thread is selected; {@code null} for that of the test. */
    private SimulatedThread schedule() {
        // Deliveries change nothing that is waited for or checked: only threads do.
        if (goal.getAsBoolean()) {
            return null;
        }
        check.run();
        while (now - end <= 0 && stepsLeft-- > 0) {
            steps++;
            now += 500 + random.nextInt(2000);
            collectPossible();
            if (!possible.isEmpty()) {
                Object step = possible.get(random.nextInt(possible.size()));
                if (step instanceof SimulatedThread thread) {
                    hash = hash * 31 + thread.number;
                    return thread;
                }
                if (step instanceof SimulatedPipe pipe) {
                    deliver(pipe);
                } else if (step instanceof SimulatedSocket socket) {
                    note("keep-alive gives up at " + socket.getLocalAddress());
                    socket.giveUp();
                } else {
                    establish((Attempt) step);
                }
            } else if (nextDeadline == Long.MAX_VALUE) {
                return null;
            } else {
                now = Math.max(now, nextDeadline);
            }
        }
        return null;
    }

    private void collectPossible() {
        possible.clear();
        nextDeadline = Long.MAX_VALUE;
        for (SimulatedThread thread : threads.alive()) {
            long pause = pausedUntil.isEmpty() ? 0 : pausedUntil.getOrDefault(thread.number, 0L);
            if (pause > now || !thread.isBlocked(now)) {
                addFrom(pause, thread);
            } else {
                nextDeadline = Math.min(nextDeadline, thread.deadline());
            }
        }
        for (Attempt attempt : attempts) {
            addFrom(attempt.due, attempt);
        }
        boolean hasEnded = false;
        for (int i = 0; i < active.size(); i++) {
            SimulatedConnection connection = active.get(i);
            add(connection.forward());
            add(connection.backward());
            if (connection.isSilent()) {
                addFrom(connection.connecting().givesUpAt(), connection.connecting());
                addFrom(connection.accepted().givesUpAt(), connection.accepted());
            }
            hasEnded |= connection.isOver();
        }
        if (hasEnded) {
            active.removeIf(SimulatedConnection::isOver);
        }
    }

    private void add(SimulatedPipe pipe) {
        if (pipe.isInFlight()) {
            addFrom(pipe.stalledUntil(), pipe);
        }
    }

    private void addFrom(long time, Object step) {
        if (time <= now) {
            possible.add(step);
        } else {
            nextDeadline = Math.min(nextDeadline, time);
        }
    }

    private void deliver(SimulatedPipe pipe) {
        int inFlight = pipe.bytesInFlight();
        int count =
                switch (random.nextInt(4)) {
                    case 0 -> 1 + random.nextInt(20);
                    case 1 -> SEGMENT;
                    default -> inFlight;
                };
        hash = hash * 31 + count;
        if (isRecorded) {
            note(pipe + " delivers " + Math.min(count, inFlight) + " of " + inFlight);
        }
        pipe.deliver(count, now);
    }

    private void establish(Attempt attempt) {
        attempts.remove(attempt);
        if (!attempt.socket.isOpen()) {
            return;
        }
        int port = attempt.to.getPort();
        SimulatedListener listener = listeners.get(port);
        if (listener == null) {
            note("connect to " + port + " is refused");
            attempt.socket.refused();
            return;
        }
        if (listener.isFull()) {
            attempts.add(
                    new Attempt(attempt.socket, attempt.from, attempt.to, now + SYN_RETRY_NANOS));
            return;
        }
        int capacity = isEven ? EVEN_CAPACITY : 2048 << random.nextInt(8);
        SimulatedConnection connection = new SimulatedConnection(established++, capacity);
        note(connection + " to " + port + ", at most " + capacity + " bytes in flight");
        connections().add(connection);
        active.add(connection);
        SimulatedSocket accepted = new SimulatedSocket(this);
        accepted.connected(attempt.to, attempt.from, connection.forward(), connection.backward());
        connection.begin(attempt.socket, accepted, now);
        listener.add(accepted);
        attempt.socket.connected(
                attempt.from, attempt.to, connection.backward(), connection.forward());
    }

    /** How long a thread that polls has nothing to do at most, unless something arrives for it: 0 for not at all. */
    long pollNanos() {
        return isEven || random.nextInt(4) == 0 ? 0 : random.nextInt(MOST_POLL_NANOS);
    }

    /** Whether a poll behind a wait is no point at which others are scheduled. */
    boolean skipsPolls() {
        return !isEven && random.nextInt(4) != 0;
    }

    // ------------------------------------------------------------------ sockets

    void connect(SimulatedSocket socket, InetSocketAddress from, InetSocketAddress to) {
        attempts.add(new Attempt(socket, from, to, now + random.nextInt(100_000)));
    }

    void cancel(SimulatedSocket socket) {
        attempts.removeIf(attempt -> attempt.socket == socket);
    }

    void listen(InetSocketAddress local, SimulatedListener listener) throws BindException {
        if (listeners.putIfAbsent(local.getPort(), listener) != null) {
            throw new BindException("Address already in use");
        }
    }

    void unlisten(InetSocketAddress local) {
        if (local != null) {
            listeners.remove(local.getPort());
        }
    }

    InetSocketAddress ephemeral(InetAddress address) {
        return new InetSocketAddress(address, nextPort++);
    }

    // ------------------------------------------------------------------ host

    @Override
    public SelectorProvider sockets() {
        return this;
    }

    /** Later with each call: Netty may wait for the time of scheduled tasks to pass. */
    @Override
    public long nanoTime() {
        return ++now;
    }

    /** Of their own, so that how many are used changes no other choice. */
    @Override
    public Random newSecureRandom() {
        return new Random(numbers.nextLong());
    }

    @Override
    public int anyNumber() {
        return numbers.nextInt();
    }

    @Override
    public AbstractSelector openSelector() {
        return new SimulatedSelector(this);
    }

    @Override
    public SocketChannel openSocketChannel() {
        return new SimulatedSocket(this);
    }

    @Override
    public SocketChannel openSocketChannel(ProtocolFamily family) {
        return new SimulatedSocket(this);
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() {
        return new SimulatedListener(this);
    }

    @Override
    public DatagramChannel openDatagramChannel() {
        throw new UnsupportedOperationException();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Pipe openPipe() {
        throw new UnsupportedOperationException();
    }
}
