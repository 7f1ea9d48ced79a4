// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import io.netty.channel.epoll.Epoll;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The time of one exchange between two threads that never block: one at a time (the latency), or several (its inverse
 * is the rate). Wants two CPUs that nobody else uses.
 */
@State(Scope.Benchmark)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public abstract class VerbsBenchmark {

    /** How many are out at a time; fewer of those that are large. */
    private static final int WINDOW = 16;

    private static final int LARGE = 1 << 20;
    private static final int WINDOW_OF_LARGE = 4;

    /** What carries the bytes. */
    public enum Carrier {
        /** The software RNIC. */
        IWARP {
            @Override
            public Exchange open(int bytes) throws Exception {
                return open(bytes, 1);
            }

            @Override
            public Exchange open(int bytes, int connections) throws Exception {
                return new IwarpExchange(bytes, window(bytes), connections);
            }
        },
        /** The JDK's sockets. */
        SOCKET {
            @Override
            public Exchange open(int bytes) throws Exception {
                return SocketExchange.nio(bytes);
            }
        },
        /** Netty's native sockets without its event loop; Linux only. */
        UNIX {
            @Override
            public Exchange open(int bytes) throws Exception {
                Epoll.ensureAvailability();
                return SocketExchange.unix(bytes);
            }
        },
        /** Two rings in memory that both ends have, a file mapped. */
        RING {
            @Override
            public Exchange open(int bytes) throws Exception {
                return new RingExchange(bytes, window(bytes));
            }
        },
        /** Netty's native epoll transport; Linux only. */
        EPOLL {
            @Override
            public Exchange open(int bytes) {
                return new EpollExchange(bytes);
            }
        };

        /**
         * Opens both ends.
         *
         * @param bytes of a message
         */
        public abstract Exchange open(int bytes) throws Exception;

        /**
         * Opens both ends of several connections; the software RNIC alone does.
         *
         * @param bytes of a message
         */
        public Exchange open(int bytes, int connections) throws Exception {
            if (connections > 1) {
                throw new IllegalArgumentException(
                        "connections: " + connections + " (expected: 1 of " + this + ')');
            }
            return open(bytes);
        }
    }

    @Param({"IWARP", "SOCKET", "UNIX", "EPOLL"})
    public Carrier carrier;

    /** The length of a message. */
    abstract int bytes();

    /** The exchanges of one invocation. So many that waking the thread of JMH, when CPUs are busy, does not count. */
    abstract int batch();

    private Exchange exchange;
    private int window;

    /**
     * How many are out at a time at most.
     *
     * @param bytes of a message
     */
    public static int window(int bytes) {
        return bytes >= LARGE ? WINDOW_OF_LARGE : WINDOW;
    }

    @Setup
    public void open() throws Exception {
        exchange = carrier.open(bytes());
        window = window(bytes());
    }

    @TearDown
    public void close() throws Exception {
        exchange.close();
    }

    @Benchmark
    public void sendRoundTrip() throws Exception {
        exchange.sends(batch(), 1);
    }

    @Benchmark
    public void writeRoundTrip() throws Exception {
        exchange.writes(batch(), 1);
    }

    @Benchmark
    public void read() throws Exception {
        exchange.reads(batch(), 1);
    }

    @Benchmark
    public void sendPipelined() throws Exception {
        exchange.sends(batch(), window);
    }

    @Benchmark
    public void writePipelined() throws Exception {
        exchange.writes(batch(), window);
    }

    @Benchmark
    public void readPipelined() throws Exception {
        exchange.reads(batch(), window);
    }
}
