// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Set;

/**
 * One end of a {@link SimulatedConnection}. It never blocks, and ignores all socket options but those of keep-alive.
 */
final class SimulatedSocket extends SocketChannel implements SimulatedSelector.Socket {

    /** What Linux has by default on a local connection. */
    private static final int SEND_BUFFER = 2_626_560;

    private final SimulatedNetwork network;
    private View view;
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private boolean isPending;
    private boolean isConnected;
    private boolean outputEnded;
    private final SimulatedKeepAlive keepAlive = new SimulatedKeepAlive();
    private boolean isGivenUp;

    /** Why the connection was refused; {@code null} if it was not. */
    private IOException refusal;

    /** {@code null} before there is a connection. */
    private SimulatedPipe in;

    /** {@code null} before there is a connection. */
    private SimulatedPipe out;

    SimulatedSocket(SimulatedNetwork network) {
        super(network);
        this.network = network;
    }

    /** There is a connection, which {@link #finishConnect} tells the end that has connected. */
    void connected(
            InetSocketAddress from,
            InetSocketAddress to,
            SimulatedPipe inbound,
            SimulatedPipe outbound) {
        local = from;
        remote = to;
        in = inbound;
        out = outbound;
        isConnected = !isPending;
    }

    /** Nobody listens at the remote address. */
    void refused() {
        refusal = new ConnectException("Connection refused");
    }

    @Override
    public boolean connect(SocketAddress address) throws IOException {
        checkOpen();
        remote = (InetSocketAddress) address;
        if (local == null) {
            local = network.ephemeral(remote.getAddress());
        }
        isPending = true;
        network.connect(this, local, remote);
        return false;
    }

    @Override
    public boolean finishConnect() throws IOException {
        checkOpen();
        if (refusal != null) {
            throw refusal;
        }
        if (isPending && in != null) {
            isPending = false;
            isConnected = true;
        }
        return isConnected;
    }

    @Override
    public int readyOperations() {
        if (isPending) {
            return in != null || refusal != null ? SelectionKey.OP_CONNECT : 0;
        }
        if (!isConnected) {
            return 0;
        }
        if (isGivenUp) {
            return SelectionKey.OP_READ | SelectionKey.OP_WRITE;
        }
        return (in.isReadable() ? SelectionKey.OP_READ : 0)
                | (out.isWritable() || outputEnded ? SelectionKey.OP_WRITE : 0);
    }

    private void checkOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private void checkConnected() throws IOException {
        checkOpen();
        if (!isConnected) {
            throw new NotYetConnectedException();
        }
        if (isGivenUp) {
            throw new IOException("Connection timed out");
        }
    }

    // ------------------------------------------------------------------ keep-alive

    /** When keep-alive gives the connection up, unless something arrives before; never while probes are answered. */
    long givesUpAt() {
        boolean isProbed = isOpen() && in != null && !isGivenUp && !out.isUnacknowledged();
        return isProbed && (in.isSilent() || out.isSilent())
                ? keepAlive.givesUpAt(in.lastArrival())
                : Long.MAX_VALUE;
    }

    /** Both ends of the user see a time-out; the peer gets a reset if it can still arrive. */
    void giveUp() {
        isGivenUp = true;
        if (!out.isSilent()) {
            out.reset();
        }
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        checkConnected();
        return in.read(target);
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        long sum = 0;
        for (int i = offset; i < offset + length; i++) {
            if (targets[i].hasRemaining()) {
                int read = read(targets[i]);
                if (read < 0) {
                    return sum == 0 ? -1 : sum;
                }
                sum += read;
                if (targets[i].hasRemaining()) {
                    break;
                }
            }
        }
        return sum;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        checkConnected();
        if (outputEnded) {
            throw new ClosedChannelException();
        }
        return out.write(source);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        long sum = 0;
        for (int i = offset; i < offset + length; i++) {
            if (sources[i].hasRemaining()) {
                sum += write(sources[i]);
                if (sources[i].hasRemaining()) {
                    break;
                }
            }
        }
        return sum;
    }

    @Override
    public SocketChannel shutdownOutput() throws IOException {
        checkConnected();
        if (!outputEnded) {
            outputEnded = true;
            out.end();
        }
        return this;
    }

    @Override
    public SocketChannel shutdownInput() throws IOException {
        throw new UnsupportedOperationException();
    }

    /** A reset if bytes are unread, as with TCP (RFC 1122, 4.2.2.13). */
    @Override
    protected void implCloseSelectableChannel() {
        if (in == null) {
            network.cancel(this);
            return;
        }
        if (in.closeReader()) {
            out.reset();
        } else {
            out.end();
        }
    }

    @Override
    protected void implConfigureBlocking(boolean block) {
        if (block) {
            throw new UnsupportedOperationException("a simulated socket does not block");
        }
    }

    @Override
    public SocketChannel bind(SocketAddress address) throws IOException {
        InetSocketAddress wanted = (InetSocketAddress) address;
        local = wanted.getPort() == 0 ? network.ephemeral(wanted.getAddress()) : wanted;
        return this;
    }

    @Override
    public SocketAddress getLocalAddress() {
        return local;
    }

    @Override
    public SocketAddress getRemoteAddress() throws IOException {
        checkOpen();
        return isConnected ? remote : null;
    }

    @Override
    public boolean isConnected() {
        return isConnected;
    }

    @Override
    public boolean isConnectionPending() {
        return isPending;
    }

    @Override
    public <T> SocketChannel setOption(SocketOption<T> option, T value) {
        keepAlive.set(option.name(), value);
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
    public Socket socket() {
        if (view == null) {
            try {
                view = new View();
            } catch (SocketException e) {
                throw new IllegalStateException(e);
            }
        }
        return view;
    }

    /** Tells addresses, and has no options: what Netty's NIO transport asks for. */
    private final class View extends Socket {
        View() throws SocketException {
            super((SocketImpl) null);
        }

        @Override
        public SocketAddress getLocalSocketAddress() {
            return local;
        }

        @Override
        public SocketAddress getRemoteSocketAddress() {
            return isConnected ? remote : null;
        }

        @Override
        public void setTcpNoDelay(boolean on) {}

        @Override
        public int getSendBufferSize() {
            return SEND_BUFFER;
        }

        @Override
        public int getSoLinger() {
            return -1;
        }

        @Override
        public InetAddress getLocalAddress() {
            return local.getAddress();
        }
    }
}
