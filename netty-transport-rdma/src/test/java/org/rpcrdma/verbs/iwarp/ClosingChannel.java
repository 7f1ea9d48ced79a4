// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;

/** A connection to nowhere, which does something when it is closed. */
final class ClosingChannel extends SocketChannel {

    private static final InetSocketAddress NOWHERE =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);

    private final Runnable onClose;

    ClosingChannel(Runnable onClose) {
        super(SelectorProvider.provider());
        this.onClose = onClose;
    }

    @Override
    protected void implCloseSelectableChannel() {
        onClose.run();
    }

    @Override
    protected void implConfigureBlocking(boolean block) {}

    @Override
    public SocketChannel bind(SocketAddress local) {
        return this;
    }

    @Override
    public <T> SocketChannel setOption(SocketOption<T> name, T value) {
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) {
        return null;
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Set.of();
    }

    @Override
    public SocketChannel shutdownInput() {
        return this;
    }

    @Override
    public SocketChannel shutdownOutput() {
        return this;
    }

    @Override
    public Socket socket() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    @Override
    public boolean isConnectionPending() {
        return false;
    }

    @Override
    public boolean connect(SocketAddress remote) {
        return true;
    }

    @Override
    public boolean finishConnect() {
        return true;
    }

    @Override
    public SocketAddress getRemoteAddress() {
        return NOWHERE;
    }

    @Override
    public SocketAddress getLocalAddress() {
        return NOWHERE;
    }

    @Override
    public int read(ByteBuffer target) {
        return -1;
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        return -1;
    }

    @Override
    public int write(ByteBuffer source) {
        int bytes = source.remaining();
        source.position(source.limit());
        return bytes;
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        return 0;
    }
}
