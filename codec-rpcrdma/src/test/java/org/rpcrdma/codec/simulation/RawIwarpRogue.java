// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * A peer that speaks the bytes of MPA, DDP and RDMAP itself, over sockets, on a thread of its own. Each connection
 * behaves for a while, in either role, and then breaks one rule.
 */
final class RawIwarpRogue implements Runnable {

    private static final long MOST_WAIT_MILLIS = TimeUnit.MINUTES.toMillis(10);

    final SimulatedWorld world;
    private final Selector selector;
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final List<RawConnection> connections = new ArrayList<>();
    private boolean isEnding;

    RawIwarpRogue(SimulatedWorld world) {
        this.world = world;
        selector = world.network.openSelector();
        world.network.executor().execute(this);
    }

    static InetSocketAddress address(int number) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 30_000 + number);
    }

    /** Has its own thread do something. */
    void submit(Runnable task) {
        tasks.add(task);
        selector.wakeup();
    }

    /** Connects to a victim that listens. */
    void connect(RawConnection connection, int number) {
        submit(
                () -> {
                    try {
                        SocketChannel socket = world.network.openSocketChannel();
                        socket.configureBlocking(false);
                        connection.on(socket, socket.register(selector, SelectionKey.OP_CONNECT));
                        connections.add(connection);
                        socket.connect(address(number));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
    }

    /** Lets a victim connect, which is told when it may. */
    void listen(RawConnection connection, int number, Runnable onListening) {
        submit(
                () -> {
                    try {
                        ServerSocketChannel server = world.network.openServerSocketChannel();
                        server.configureBlocking(false);
                        server.bind(address(number), 1);
                        server.register(selector, SelectionKey.OP_ACCEPT, connection);
                        onListening.run();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
    }

    void close() {
        submit(() -> isEnding = true);
    }

    // ------------------------------------------------------------------ of its own thread

    @Override
    public void run() {
        try {
            while (!isEnding) {
                while (!tasks.isEmpty()) {
                    tasks.poll().run();
                }
                long wait = MOST_WAIT_MILLIS;
                for (RawConnection connection : connections) {
                    wait = Math.min(wait, connection.tick());
                }
                if (isEnding || !tasks.isEmpty()) {
                    continue;
                }
                selector.select(this::ready, Math.max(1, wait));
            }
            for (SelectionKey key : selector.keys()) {
                key.channel().close();
            }
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void ready(SelectionKey key) {
        if (key.channel() instanceof ServerSocketChannel server) {
            accept(server, (RawConnection) key.attachment());
        } else {
            ((RawConnection) key.attachment()).ready();
        }
    }

    private void accept(ServerSocketChannel server, RawConnection connection) {
        try {
            SocketChannel socket = server.accept();
            if (socket == null) {
                return;
            }
            socket.configureBlocking(false);
            connection.on(socket, socket.register(selector, SelectionKey.OP_READ));
            connections.add(connection);
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
