// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Set;

/** A server socket of a {@link SimulatedNetwork}. */
final class SimulatedListener extends ServerSocketChannel implements SimulatedSelector.Socket {

    private final SimulatedNetwork network;
    private final ArrayDeque<SimulatedSocket> accepted = new ArrayDeque<>();
    private InetSocketAddress local;
    private int backlog;

    SimulatedListener(SimulatedNetwork network) {
        super(network);
        this.network = network;
    }

    /** Whether it accepts no connection until one is taken. */
    boolean isFull() {
        return accepted.size() > backlog;
    }

    void add(SimulatedSocket socket) {
        accepted.add(socket);
    }

    @Override
    public ServerSocketChannel bind(SocketAddress address, int size) throws BindException {
        InetSocketAddress wanted = (InetSocketAddress) address;
        local = wanted.getPort() == 0 ? network.ephemeral(wanted.getAddress()) : wanted;
        backlog = size;
        network.listen(local, this);
        return this;
    }

    @Override
    public SocketChannel accept() {
        return accepted.poll();
    }

    @Override
    public int readyOperations() {
        return accepted.isEmpty() ? 0 : SelectionKey.OP_ACCEPT;
    }

    @Override
    protected void implCloseSelectableChannel() throws IOException {
        network.unlisten(local);
        for (SimulatedSocket socket : accepted) {
            socket.close();
        }
    }

    /** It never blocks. */
    @Override
    protected void implConfigureBlocking(boolean block) {}

    @Override
    public SocketAddress getLocalAddress() {
        return local;
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> option, T value) {
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> option) {
        return null;
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Set.of();
    }

    @Override
    public ServerSocket socket() {
        try {
            return new View();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Tells the local address, and nothing else. */
    private final class View extends ServerSocket {
        View() throws IOException {}

        @Override
        public boolean isBound() {
            return local != null;
        }

        @Override
        public SocketAddress getLocalSocketAddress() {
            return local;
        }
    }
}
