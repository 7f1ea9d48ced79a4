// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The way from one client to one server. All methods but {@link #address} and {@link #impair} are the network's. */
final class ImpairedLink {

    private final InetSocketAddress target;
    private final ServerSocketChannel listener;
    private final Selector selector;
    private final List<ImpairedConnection> connections = new ArrayList<>();

    /** Set on any thread. */
    private volatile Impairment next;

    private Impairment fault = Impairment.NONE;
    private long endNanos;
    private int bytesToCut;

    ImpairedLink(InetSocketAddress target, Selector selector) throws IOException {
        this.target = target;
        this.selector = selector;
        listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        listener.configureBlocking(false);
    }

    void listen() throws IOException {
        listener.register(selector, SelectionKey.OP_ACCEPT, this);
    }

    InetSocketAddress address() throws IOException {
        return (InetSocketAddress) listener.getLocalAddress();
    }

    /** Begins a fault, in the place of the one before. Any thread. */
    void impair(Impairment impairment) {
        next = impairment;
    }

    /** Whether it has to be looked at by the clock. */
    boolean isWatched() {
        return fault != Impairment.NONE || next != null;
    }

    /** Returns whether it has to be looked at by the clock from now on. */
    boolean pump(long now) {
        begin(now);
        if (fault != Impairment.NONE && !fault.isCut() && endNanos - now <= 0) {
            fault = Impairment.NONE;
        }
        accept();
        for (ImpairedConnection connection : connections) {
            int most = fault.isCut() ? bytesToCut : Integer.MAX_VALUE;
            int moved = connection.pump(fault, now, most);
            if (fault.isCut()) {
                bytesToCut -= moved;
                if (bytesToCut <= 0 && connection.isOpen()) {
                    connection.close(fault.kind() == Impairment.Kind.RESET);
                    fault = Impairment.NONE;
                }
            }
        }
        connections.removeIf(connection -> !connection.isOpen());
        return fault != Impairment.NONE;
    }

    private void begin(long now) {
        Impairment following = next;
        if (following != null) {
            next = null;
            fault = following;
            endNanos = now + TimeUnit.MILLISECONDS.toNanos(following.millis());
            bytesToCut = following.amount();
        }
    }

    private void accept() {
        if (fault.kind() == Impairment.Kind.PARTITION) {
            return;
        }
        try {
            SocketChannel client = listener.accept();
            if (client != null) {
                connect(client);
            }
        } catch (IOException e) {
            return; // nobody listens behind it at this time, or it is the end
        }
    }

    private void connect(SocketChannel client) throws IOException {
        SocketChannel server;
        try {
            server = SocketChannel.open(target); // on loopback, so at once
        } catch (IOException e) {
            client.close();
            throw e;
        }
        connections.add(new ImpairedConnection(client, server, selector, this));
    }

    void close() throws IOException {
        listener.close();
        connections.forEach(connection -> connection.close(true));
    }
}
