// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.channel.EventLoopGroup;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.verbs.Exchange;
import org.rpcrdma.benchmarks.verbs.VerbsBenchmark;
import org.rpcrdma.benchmarks.verbs.VerbsBenchmark.Carrier;

/**
 * Bare carriers: two threads of one process, without RPC, pipelines and event loops. Nothing that is built on a carrier
 * can be faster. NULL is a message of {@value #SMALL} bytes and one back, READ is a request and as many bytes back, an
 * echo the same bytes back.
 */
enum Floor implements Contender {
    /** Bare sockets of the JDK. */
    FLOOR_SOCKET(Carrier.SOCKET),
    /** Verbs of the software RNIC: Sends, and RDMA Reads. */
    FLOOR_VERBS(Carrier.IWARP),
    /** Verbs, as a byte stream has them: an RDMA Write, and a Send that tells of it. */
    FLOOR_WRITE(Carrier.IWARP),
    /** Rings in memory that both have. */
    FLOOR_RING(Carrier.RING),
    /** One thread copies from memory to memory; there is no NULL. */
    FLOOR_COPY(null);

    private static final int SMALL = 64;

    private final Carrier carrier;

    Floor(Carrier carrier) {
        this.carrier = carrier;
    }

    /** Opens both ends. */
    Exchange exchange(Work work) throws Exception {
        int bytes = Math.max(work.bytes(), SMALL);
        return carrier == null ? new CopyExchange(bytes) : carrier.open(bytes, work.connections());
    }

    /** Does the work so many times. */
    void exchange(Exchange exchange, Work work, int count) throws Exception {
        if (work.procedure() == Work.Procedure.READ) {
            exchange.reads(count, work.outstanding());
        } else if (this == FLOOR_WRITE) {
            exchange.writes(count, work.outstanding());
        } else {
            exchange.sends(count, work.outstanding());
        }
    }

    @Override
    public boolean isBusy() {
        return this != FLOOR_COPY;
    }

    @Override
    public boolean isAvailable() {
        return true;
    }

    @Override
    public Set<Application> applications() {
        return this == FLOOR_COPY
                ? EnumSet.of(Application.RPC)
                : EnumSet.of(Application.RPC, Application.BYTES);
    }

    @Override
    public boolean does(Work work) {
        boolean isKnown =
                switch (work.procedure()) {
                    case NULL, ECHO -> this != FLOOR_COPY;
                    case READ ->
                            this != FLOOR_WRITE && (this != FLOOR_COPY || work.outstanding() == 1);
                    default -> false;
                };
        return isKnown
                && work.load() == 0
                && (work.connections() == 1 || carrier == Carrier.IWARP)
                && work.idle() == 0
                && work.outstanding() <= VerbsBenchmark.window(work.bytes());
    }

    @Override
    public EventLoopGroup newGroup() {
        return Transport.NIO.newGroup();
    }

    @Override
    public Side open(Application application, Tools tools) {
        return new FloorSide(this);
    }

    /** There is no other end. */
    private static final class CopyExchange implements Exchange {
        private final ByteBuffer from;
        private final ByteBuffer to;

        CopyExchange(int bytes) {
            from = ByteBuffer.allocateDirect(bytes);
            to = ByteBuffer.allocateDirect(bytes);
        }

        @Override
        public void sends(int count, int window) {
            reads(count, window);
        }

        @Override
        public void writes(int count, int window) {
            reads(count, window);
        }

        @Override
        public void reads(int count, int window) {
            for (int i = 0; i < count; i++) {
                to.put(0, from, 0, from.capacity());
            }
        }

        @Override
        public void close() {
            // Memory alone.
        }
    }
}
