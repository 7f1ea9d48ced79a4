// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.rpcrdma.verbs.iwarp.mpa.MarkerInserter;

/** The usual carrier: a TCP connection. */
final class TcpByteTransport implements ByteTransport, SelectionKeyHandler, BusyTcpPollSet.Stream {

    private final BusyTcpPollSet busy;
    private final InterfaceMtuCache mtu;
    private final SocketChannel channel;
    private final SelectionKey key;
    private ByteTransportEventHandler user;

    TcpByteTransport(
            BusyTcpPollSet busy, InterfaceMtuCache mtu, SocketChannel channel, SelectionKey key) {
        this.busy = busy;
        this.mtu = mtu;
        this.channel = channel;
        this.key = key;
        key.attach(this);
    }

    @Override
    public void carry(ByteTransportEventHandler next) {
        user = next;
        busy.remove(this);
    }

    @Override
    public void await(boolean bytes, boolean room) {
        key.interestOps((bytes ? SelectionKey.OP_READ : 0) | (room ? SelectionKey.OP_WRITE : 0));
        if (!bytes) {
            busy.remove(this);
        }
    }

    @Override
    public int mulpdu(boolean markers) {
        int mulpdu = this.mtu.mulpdu(channel.socket().getLocalAddress());
        return markers ? MarkerInserter.mulpdu(mulpdu) : mulpdu;
    }

    @Override
    public void ready(int operations) {
        if ((operations & SelectionKey.OP_WRITE) != 0) {
            user.writable();
        }
        boolean isReadable = (operations & SelectionKey.OP_READ) != 0 && key.isValid();
        if (isReadable && user.readAvailable() && key.isValid()) {
            busy.add(this);
        }
    }

    @Override
    public boolean mayWait() {
        return true;
    }

    @Override
    public void failed(Exception cause) {
        user.failed(cause);
    }

    @Override
    public boolean poll() {
        return user.readAvailable();
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        return channel.read(target);
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        return channel.read(targets, offset, length);
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        return channel.write(source);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        return channel.write(sources, offset, length);
    }

    @Override
    public void shutdownOutput() throws IOException {
        channel.shutdownOutput();
    }

    @Override
    public boolean isOpen() {
        return channel.isOpen();
    }

    @Override
    public void close() {
        busy.remove(this);
        Sockets.close(channel);
    }
}
