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
import java.util.concurrent.atomic.AtomicInteger;

/** A connected socket that nothing has arrived at; it counts what is done with it. */
final class ModelSocketChannel extends SocketChannel {

    final AtomicInteger writes = new AtomicInteger();
    final AtomicInteger closes = new AtomicInteger();

    ModelSocketChannel() {
        super(SelectorProvider.provider());
    }

    @Override
    public int read(ByteBuffer target) {
        return 0;
    }

    @Override
    public int write(ByteBuffer source) {
        writes.incrementAndGet();
        int length = source.remaining();
        source.position(source.limit());
        return length;
    }

    @Override
    public SocketChannel shutdownOutput() {
        return this;
    }

    @Override
    protected void implCloseSelectableChannel() {
        closes.incrementAndGet();
    }

    @Override
    public SocketAddress getLocalAddress() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    }

    @Override
    public SocketAddress getRemoteAddress() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 2);
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
    protected void implConfigureBlocking(boolean block) {}

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Set.of();
    }

    @Override
    public <T> T getOption(SocketOption<T> option) {
        return null;
    }

    @Override
    public <T> SocketChannel setOption(SocketOption<T> option, T value) {
        return this;
    }

    @Override
    public SocketChannel bind(SocketAddress address) {
        throw new UnsupportedOperationException();
    }

    @Override
    public SocketChannel shutdownInput() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket socket() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean connect(SocketAddress address) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean finishConnect() {
        throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        throw new UnsupportedOperationException();
    }
}
