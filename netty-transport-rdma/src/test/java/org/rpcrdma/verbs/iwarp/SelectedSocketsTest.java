// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Of the sockets that one selection finds ready a poll handles those up to the first that moves bytes. */
class SelectedSocketsTest {

    private static final int BYTES = 1;
    private static final int AT_ONCE = -1;

    private final List<Socket> handled = new ArrayList<>();
    private final List<Socket> sockets = new ArrayList<>();
    private SocketPoller poller;

    /** One that is always ready, and says that it has moved some bytes. */
    private final class Socket implements SelectionKeyHandler {

        private final Pipe pipe = Pipe.open();
        private final int bytes;
        private final SelectionKey key;

        Socket(int bytes) throws IOException {
            this.bytes = bytes;
            pipe.source().configureBlocking(false);
            key = poller.register(pipe.source(), SelectionKey.OP_READ, this);
            pipe.sink().write(ByteBuffer.allocate(1));
            sockets.add(this);
        }

        @Override
        public void ready(int operations) {
            handled.add(this);
            poller.moved(Math.max(0, bytes));
        }

        @Override
        public boolean mayWait() {
            return bytes != AT_ONCE;
        }

        @Override
        public void failed(Exception cause) {
            throw new AssertionError(cause);
        }

        void close() throws IOException {
            pipe.source().close();
            pipe.sink().close();
        }
    }

    @BeforeEach
    void open() throws IOException {
        poller = new SocketPoller(Selector.open(), null);
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        poller.close();
    }

    @Test
    void oneThatMovesBytesEndsThePoll() throws IOException {
        new Socket(BYTES);
        new Socket(BYTES);
        poll();
        assertThat(handled).hasSize(1);
        assertThat(poller.hasSelected()).isTrue();
        poll();
        assertThat(handled).containsExactlyInAnyOrderElementsOf(sockets);
        assertThat(poller.hasSelected()).isFalse();
    }

    @Test
    void thoseThatMoveNothingAreHandledByOnePoll() throws IOException {
        new Socket(0);
        new Socket(0);
        poll();
        assertThat(handled).containsExactlyInAnyOrderElementsOf(sockets);
    }

    @Test
    void whatAWaitFindsIsHandledByTheNextPoll() throws IOException {
        Socket socket = new Socket(1);
        poller.await(Long.MAX_VALUE);
        assertThat(handled).isEmpty();
        assertThat(poller.hasSelected()).isTrue();
        poll();
        assertThat(handled).containsExactly(socket);
    }

    @Test
    void oneThatMayNotWaitIsHandledAtOnce() throws IOException {
        new Socket(BYTES);
        new Socket(BYTES);
        Socket startup = new Socket(AT_ONCE);
        poll();
        assertThat(handled).hasSize(2).contains(startup);
    }

    @Test
    void oneThatHasPausedMeanwhileIsNotHandled() throws IOException {
        Socket paused = otherAfterAPoll();
        paused.key.interestOps(0);
        poll();
        assertThat(handled).hasSize(1);
        paused.key.interestOps(SelectionKey.OP_READ);
        poll(); // it, or the other one
        poll();
        assertThat(handled).contains(paused);
    }

    @Test
    void oneThatWasClosedMeanwhileIsNotHandled() throws IOException {
        otherAfterAPoll().close();
        poll();
        assertThat(handled).hasSize(1);
        assertThat(poller.hasSelected()).isFalse();
    }

    /** However much others move in the same round: here by the caller, in front of the poll. */
    @Test
    void eachPollHandlesOneAtLeast() throws IOException {
        Socket other = otherAfterAPoll();
        poller.moved(BYTES);
        poller.poll(0);
        assertThat(handled).contains(other);
    }

    /** {@return the one of two that a poll has selected and not handled} */
    private Socket otherAfterAPoll() throws IOException {
        Socket first = new Socket(BYTES);
        Socket second = new Socket(BYTES);
        poll();
        return handled.get(0) == first ? second : first;
    }

    private void poll() {
        poller.poll(poller.moved);
    }
}
