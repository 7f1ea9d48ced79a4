// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.DirectMemoryBudget;

/** The peer of a connection that lingers takes bytes slowly, or none. */
class LingeringCloseTest {

    private static final IwarpConfig CONFIG = IwarpConfig.defaults();

    private long now;
    private IwarpContextResources loop;
    private final SlowTransport transport = new SlowTransport();

    @BeforeEach
    void open() throws IOException {
        loop =
                new IwarpContextResources(
                        CONFIG,
                        new ClockedHost(() -> now),
                        DirectMemoryBudget.jvm(),
                        new SharedMemoryNegotiation(CONFIG));
    }

    @AfterEach
    void close() {
        loop.close();
    }

    private void pass(long nanos) {
        now += nanos;
        loop.timers.expire();
    }

    @Test
    void aPeerThatStillTakesSomethingIsNotCut() {
        final long step = CONFIG.drainTimeout().toNanos() * 3 / 4;
        new LingeringClose(loop, transport, ByteBuffer.allocate(10));
        for (int i = 1; i < 10; i++) {
            pass(step);
            assertThat(transport.isOpen()).describedAs("after %d bytes", i).isTrue();
            transport.user.writable();
        }
        assertThat(transport.isShutDown).isTrue();
        pass(step);
        assertThat(transport.isOpen()).isTrue();
        pass(step);
        assertThat(transport.isOpen()).isFalse();
        assertThat(loop.lingering.isEmpty()).isTrue();
        assertThat(loop.timers.isEmpty()).isTrue();
    }

    @Test
    void aPeerThatTakesNothingIsCut() {
        new LingeringClose(loop, transport, ByteBuffer.allocate(10));
        transport.isFull = true;
        pass(CONFIG.drainTimeout().toNanos() / 2);
        transport.user.writable();
        pass(CONFIG.drainTimeout().toNanos() / 2);
        assertThat(transport.isOpen()).isFalse();
        assertThat(loop.timers.isEmpty()).isTrue();
    }

    /** What the peer sends is discarded, and is no reason to wait for it for ever. */
    @Test
    void aPeerThatOnlySendsIsCut() {
        new LingeringClose(loop, transport);
        assertThat(transport.isShutDown).isTrue();
        pass(CONFIG.drainTimeout().toNanos() / 2);
        assertThat(transport.user.readAvailable()).isTrue();
        pass(CONFIG.drainTimeout().toNanos() / 2);
        assertThat(transport.isOpen()).isFalse();
    }

    /** All was sent, and the end of it: what the peer has still to say must not become a reset. */
    @Test
    void oneWhoseOutputIsShutLingersToo() {
        transport.isShutDown = true;
        new LingeringClose(loop, transport);
        transport.user.writable();
        assertThat(transport.isOpen()).isTrue();
        pass(CONFIG.drainTimeout().toNanos());
        assertThat(transport.isOpen()).isFalse();
    }

    /** Neither its timer nor its place among those that linger outlives it. */
    @Test
    void oneThatCannotBeginLeavesNothingBehind() {
        transport.failure = new OutOfMemoryError("no heap");
        assertThatThrownBy(() -> new LingeringClose(loop, transport)).isSameAs(transport.failure);
        assertThat(transport.isOpen()).isFalse();
        assertThat(loop.lingering.isEmpty()).isTrue();
        assertThat(loop.timers.isEmpty()).isTrue();
    }

    /** Takes one byte at a time, and always has one to read. */
    private static final class SlowTransport implements ByteTransport {

        private ByteTransportEventHandler user;
        private boolean isFull;
        private boolean isShutDown;
        private boolean isClosed;
        private Error failure;

        @Override
        public void carry(ByteTransportEventHandler next) {
            if (failure != null) {
                throw failure;
            }
            user = next;
        }

        @Override
        public void await(boolean bytes, boolean room) {}

        @Override
        public int mulpdu(boolean markers) {
            return 0;
        }

        @Override
        public int read(ByteBuffer target) {
            target.put((byte) 1);
            return 1;
        }

        @Override
        public long read(ByteBuffer[] targets, int offset, int length) {
            return read(targets[offset]);
        }

        @Override
        public int write(ByteBuffer source) throws IOException {
            if (isShutDown) {
                throw new AsynchronousCloseException(); // as a socket's, however little it is
            }
            if (isFull || !source.hasRemaining()) {
                return 0;
            }
            source.get();
            return 1;
        }

        @Override
        public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
            return write(sources[offset]);
        }

        @Override
        public void shutdownOutput() {
            isShutDown = true;
        }

        @Override
        public boolean isOpen() {
            return !isClosed;
        }

        @Override
        public void close() {
            isClosed = true;
        }
    }
}
