// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;

/** A lack of heap memory between two steps leaves neither a connection behind nor memory open to its peer. */
class MemoryShortageTest {

    private static final IwarpConfig CONFIG =
            IwarpConfig.builder().sharedMemory(false).peerToPeer(false).build();
    private static final byte[] NOTHING = {};

    private final List<AutoCloseable> open = new ArrayList<>();
    private boolean isShort;
    private boolean isHandlerShort;

    @AfterEach
    void closeAll() throws Exception {
        isShort = false;
        for (AutoCloseable closeable : open) {
            closeable.close();
        }
    }

    private <T extends AutoCloseable> T closed(T closeable) {
        open.add(0, closeable);
        return closeable;
    }

    /** Fails in place of an allocation, where a lingering close begins. */
    private long nanoTime() {
        if (isShort) {
            throw new OutOfMemoryError("no heap");
        }
        return IwarpHost.SYSTEM.nanoTime();
    }

    private IwarpContext context() throws IOException {
        return new IwarpContext(CONFIG, new ClockedHost(this::nanoTime), DirectMemoryBudget.jvm());
    }

    @Test
    void aClosedConnectionIsCutAndExposesNothing() throws IOException {
        Pair pair = closed(new Pair(context(), context()));
        pair.listen(InetAddress.getLoopbackAddress());
        pair.connect(Pair.SIZE, Pair.SIZE, 64);
        int key = pair.initiator.expose(0, 64, QueuePair.REMOTE_READ);
        isShort = true;
        pair.initiator.queuePair.close();
        isShort = false;
        assertThat(pair.initiator.queuePair.isExposed(key)).isFalse();
        assertThat(pair.initiatorContext.isLingering()).isFalse();
        pair.until(pair.responder::isEnded);
        assertThat(pair.initiator.ends).isEmpty();
    }

    /** A Reply that is refused is answered by a Terminate, for which there may be no memory. */
    @Test
    void aRefusedStartupIsToldAndCut() throws IOException {
        IwarpContext context = closed(context());
        ServerSocketChannel server = closed(ServerSocketChannel.open());
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Endpoint endpoint = new Endpoint(context, 64);
        endpoint.queuePair = context.createQueuePair(Pair.SIZE, endpoint);
        // Without a timer nothing but the lingering close asks for the time.
        endpoint.queuePair.connectTimeout(0);
        endpoint.queuePair.connect((InetSocketAddress) server.getLocalAddress(), null, NOTHING);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.read(24);
        isShort = true;
        peer.send(RawPeer.hex(RawPeer.REPLY, "10 02 0201"));
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(peer.readToEnd()).isEmpty();
        assertThat(context.isLingering()).isFalse();
    }

    /** The handler of a listener fails where it has no memory to note a request. */
    @Test
    void aRequestThatNobodyHearsOfGivesItsPlaceBack() throws IOException {
        IwarpContext context = closed(context());
        List<ConnectionRequest> heard = new ArrayList<>();
        Listener listener =
                context.listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        1,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest request) {
                                if (isHandlerShort) {
                                    throw new OutOfMemoryError("no heap");
                                }
                                heard.add(request);
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                throw new AssertionError(cause);
                            }
                        });
        RawPeer first = closed(RawPeer.connect(listener.localAddress(), context));
        isHandlerShort = true;
        first.send(RawPeer.request(false));
        assertThatThrownBy(first::readToEnd).isInstanceOf(OutOfMemoryError.class);
        isHandlerShort = false;
        assertThat(first.readToEnd()).startsWith(RawPeer.hex(RawPeer.REPLY));
        RawPeer second = closed(RawPeer.connect(listener.localAddress(), context));
        second.send(RawPeer.request(false));
        Pair.until(() -> !heard.isEmpty(), context);
    }

    @Test
    void theReasonOfAnEndNeedsNoMemory() {
        Error error =
                new OutOfMemoryError() {
                    @Override
                    public String getMessage() {
                        throw new OutOfMemoryError("no heap");
                    }
                };
        assertThat(Sockets.ended(error)).hasMessage("No memory is left").hasNoCause();
    }

    @Test
    void aLineThatCannotBeWrittenHoldsUpNoEnd() {
        IOException cause =
                new IOException() {
                    @Override
                    public String getMessage() {
                        throw new OutOfMemoryError("no heap");
                    }
                };
        assertThatCode(() -> new StreamErrorLog().warn("{}: {}", "a peer", cause))
                .doesNotThrowAnyException();
    }
}
