// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.Queue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.ListenerHandler;

/** A moment without memory ends neither a listener nor leaves it a connection that nobody answers. */
class IwarpListenerTest {

    private static final IwarpConfig CONFIG =
            IwarpConfig.builder().sharedMemory(false).peerToPeer(false).build();

    private static final byte[] NO_DATA = {};
    private static final int PATIENCE_MILLIS = 30_000;

    private final Queue<ConnectionRequest> heard = new ArrayDeque<>();
    private IwarpContextResources loop;
    private IwarpListener listener;
    private boolean isShort;

    @BeforeEach
    void open() throws IOException {
        loop =
                new IwarpContextResources(
                        CONFIG,
                        new ClockedHost(this::nanoTime),
                        DirectMemoryBudget.jvm(),
                        new SharedMemoryNegotiation(CONFIG));
        ListenerHandler handler =
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        heard.add(request);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        throw new AssertionError(cause);
                    }
                };
        listener =
                new IwarpListener(
                        loop,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        1,
                        handler);
    }

    @AfterEach
    void close() {
        loop.close();
    }

    private void checkMemory() {
        if (isShort) {
            throw new OutOfMemoryError("no heap");
        }
    }

    private long nanoTime() {
        checkMemory();
        return IwarpHost.SYSTEM.nanoTime();
    }

    private Socket connect() throws IOException {
        Socket peer = new Socket();
        peer.connect(listener.localAddress());
        return peer;
    }

    private void poll() {
        loop.pausedListeners.resume();
        loop.poller.poll(loop.poller.moved);
    }

    private ConnectionRequest nextRequest() {
        while (heard.isEmpty()) {
            poll();
            loop.completions.deliver(1);
        }
        return heard.remove();
    }

    @Test
    void aListenerWithoutMemoryToPauseAcceptsAgain() throws IOException {
        try (Socket first = connect();
                Socket second = connect()) {
            loop.pausedListeners.paused =
                    new LinkedHashSet<>() {
                        private static final long serialVersionUID = 1L;

                        @Override
                        public boolean add(PausedListeners.Acceptor paused) {
                            isShort = heard.isEmpty();
                            checkMemory();
                            return super.add(paused);
                        }
                    };
            assertThatThrownBy(this::nextRequest).isInstanceOf(OutOfMemoryError.class);
            isShort = false;
            loop.pausedListeners.paused = new LinkedHashSet<>();
            for (Socket peer : new Socket[] {first, second}) {
                peer.getOutputStream().write(RawPeer.request(false));
                nextRequest().reject(NO_DATA);
            }
        }
    }

    /** It is noted, and neither told nor refused yet. */
    @Test
    void aRequestOfAListenerWithoutMemoryToCloseIsRefused() throws IOException {
        try (Socket peer = connect()) {
            peer.setSoTimeout(PATIENCE_MILLIS);
            peer.getOutputStream().write(RawPeer.request(false));
            while (loop.completions.size() == 0) {
                poll();
            }
            loop.pausedListeners.paused =
                    new LinkedHashSet<>() {
                        private static final long serialVersionUID = 1L;

                        @Override
                        public boolean remove(Object paused) {
                            throw new OutOfMemoryError("no heap");
                        }
                    };
            assertThatThrownBy(listener::close).isInstanceOf(OutOfMemoryError.class);
            loop.completions.deliver(1);
            assertThat(peer.getInputStream().readAllBytes()).startsWith(RawPeer.hex(RawPeer.REPLY));
            assertThat(heard).isEmpty();
            poll();
            assertThatThrownBy(this::connect).isInstanceOf(ConnectException.class);
        }
    }
}
