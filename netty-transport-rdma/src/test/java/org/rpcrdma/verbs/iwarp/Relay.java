// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Stands between two ends of a connection, and decides in which pieces bytes go on. Driven by the thread of the test.
 */
final class Relay implements AutoCloseable {

    /** So often both ends are polled before bytes behind a cut follow. */
    private static final int PUMPS_AT_A_CUT = 3;

    /** How many bytes of a direction may go on. */
    interface Pieces {
        /**
         * @param passed the bytes that have gone on before
         * @param waiting the bytes that are there
         */
        int next(long passed, int waiting);
    }

    static final Pieces ALL = (passed, waiting) -> waiting;

    /** One cut: what comes behind a position comes later. */
    static Pieces cutAt(long position) {
        int[] pumps = {0};
        return (passed, waiting) -> {
            if (passed < position) {
                return (int) Math.min(waiting, position - passed);
            }
            return pumps[0]++ < PUMPS_AT_A_CUT ? 0 : waiting;
        };
    }

    private final InetSocketAddress target;
    private final ServerSocketChannel server;
    private SocketChannel client;
    private SocketChannel service;
    private Direction toService;
    private Direction toClient;
    private Pieces requests = ALL;
    private Pieces answers = ALL;

    Relay(InetSocketAddress target) throws IOException {
        this.target = target;
        this.server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.configureBlocking(false);
    }

    InetSocketAddress address() {
        try {
            return (InetSocketAddress) server.getLocalAddress();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the connection, and sets how the next one is cut. */
    void next(Pieces initiatorsBytes, Pieces respondersBytes) throws IOException {
        hangUp();
        requests = initiatorsBytes;
        answers = respondersBytes;
    }

    void answersBy(Pieces pieces) {
        toClient.pieces = pieces;
    }

    void requestsBy(Pieces pieces) {
        toService.pieces = pieces;
    }

    long requestBytes() {
        return toService.passed;
    }

    long answerBytes() {
        return toClient.passed;
    }

    /** Moves what may be moved. */
    void pump() {
        try {
            if (client == null) {
                client = server.accept();
                if (client == null) {
                    return;
                }
                service = SocketChannel.open(target);
                toService = new Direction(client, service, requests);
                toClient = new Direction(service, client, answers);
            }
            toService.pump();
            toClient.pump();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void hangUp() throws IOException {
        if (client != null) {
            client.close();
            service.close();
            client = null;
        }
    }

    @Override
    public void close() throws IOException {
        hangUp();
        server.close();
    }

    private static final class Direction {

        private final SocketChannel from;
        private final SocketChannel to;
        private final ByteBuffer in = ByteBuffer.allocate(256 * 1024);
        private ByteArrayOutputStream arrived = new ByteArrayOutputStream();
        private ByteBuffer waiting = ByteBuffer.allocate(0);
        private Pieces pieces;
        private long passed;
        private boolean ended;
        private boolean shut;

        Direction(SocketChannel from, SocketChannel to, Pieces pieces) throws IOException {
            this.from = from;
            this.to = to;
            this.pieces = pieces;
            from.configureBlocking(false);
            from.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }

        void pump() throws IOException {
            while (!ended) {
                int read = from.read(in.clear());
                if (read <= 0) {
                    ended = read < 0;
                    break;
                }
                arrived.write(in.array(), 0, read);
            }
            if (arrived.size() > 0) {
                ByteBuffer all = ByteBuffer.allocate(waiting.remaining() + arrived.size());
                waiting = all.put(waiting).put(arrived.toByteArray()).flip();
                arrived = new ByteArrayOutputStream();
            }
            int piece = pieces.next(passed, waiting.remaining());
            if (piece > 0) {
                // TCP may take a part of it only.
                int taken = to.write(waiting.slice(waiting.position(), piece));
                waiting.position(waiting.position() + taken);
                passed += taken;
            }
            if (ended && !waiting.hasRemaining() && !shut) {
                shut = true;
                to.shutdownOutput();
            }
        }
    }
}
