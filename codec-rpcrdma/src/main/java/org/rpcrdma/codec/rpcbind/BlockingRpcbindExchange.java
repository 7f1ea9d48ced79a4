// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.NetUtil;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** Sends one RPC call to an rpcbind and waits for its reply, until a deadline. Blocks its thread. */
final class BlockingRpcbindExchange {

    /** The longest reply over a stream, in bytes: some 10000 services. */
    static final int MAXIMUM_REPLY = 1 << 20;

    private static final int LAST_FRAGMENT = 0x80000000;
    private static final int MAXIMUM_DATAGRAM = 65_507;

    /** Time until a datagram is sent again, in nanoseconds. */
    private static final long RETRANSMIT_NANOS = Duration.ofSeconds(1).toNanos();

    private final SocketAddress rpcbind;
    private final long deadline;

    BlockingRpcbindExchange(SocketAddress rpcbind, Duration timeout) {
        this.rpcbind = rpcbind;
        deadline = System.nanoTime() + timeout.toNanos();
    }

    /** Over TCP, or over a socket of this machine: with record marks (RFC 5531, 11). */
    ByteBuf overStream(ByteBuf call) throws IOException {
        try (Selector selector = Selector.open();
                SocketChannel socket = open()) {
            socket.configureBlocking(false);
            SelectionKey key = socket.register(selector, SelectionKey.OP_CONNECT);
            boolean isConnected = socket.connect(rpcbind);
            while (!isConnected) {
                await(selector, deadline);
                isConnected = socket.finishConnect();
            }
            key.interestOps(SelectionKey.OP_WRITE);
            ByteBuffer out =
                    ByteBuffer.allocate(4 + call.readableBytes())
                            .putInt(LAST_FRAGMENT | call.readableBytes())
                            .put(call.nioBuffer())
                            .flip();
            while (out.hasRemaining()) {
                if (socket.write(out) == 0) {
                    await(selector, deadline);
                }
            }
            key.interestOps(SelectionKey.OP_READ);
            return readRecord(socket, selector);
        }
    }

    private SocketChannel open() throws IOException {
        return rpcbind instanceof UnixDomainSocketAddress
                ? SocketChannel.open(StandardProtocolFamily.UNIX)
                : SocketChannel.open();
    }

    private ByteBuf readRecord(SocketChannel socket, Selector selector) throws IOException {
        ByteBuf record = Unpooled.buffer(512);
        int mark;
        do {
            mark = readBytes(socket, selector, 4).getInt();
            int length = mark & ~LAST_FRAGMENT;
            if (length > MAXIMUM_REPLY - record.readableBytes()
                    || (length == 0 && mark >= 0)) { // empty fragments without an end
                throw new RpcbindException(
                        "a fragment of "
                                + length
                                + " bytes (expected: from 1, and at most "
                                + MAXIMUM_REPLY
                                + " together)");
            }
            for (int left = length; left > 0; ) {
                ByteBuffer part = readBytes(socket, selector, Math.min(left, 8192));
                left -= part.remaining();
                record.writeBytes(part);
            }
        } while (mark >= 0);
        return record;
    }

    private ByteBuffer readBytes(SocketChannel socket, Selector selector, int length)
            throws IOException {
        ByteBuffer in = ByteBuffer.allocate(length);
        while (in.hasRemaining()) {
            int bytes = socket.read(in);
            if (bytes < 0) {
                throw new EOFException("the connection was closed before the whole reply");
            }
            if (bytes == 0) {
                await(selector, deadline);
            }
        }
        return in.flip();
    }

    /** Over UDP: the call is sent again each second, and datagrams that are not its reply are dropped. */
    ByteBuf overDatagrams(ByteBuf call, int xid) throws IOException {
        try (Selector selector = Selector.open();
                DatagramChannel socket = DatagramChannel.open()) {
            socket.configureBlocking(false);
            socket.register(selector, SelectionKey.OP_READ);
            socket.connect(rpcbind);
            ByteBuffer in = ByteBuffer.allocate(MAXIMUM_DATAGRAM);
            while (true) {
                socket.write(call.nioBuffer());
                long again = System.nanoTime() + RETRANSMIT_NANOS;
                while (again - System.nanoTime() > 0) {
                    await(selector, again - deadline < 0 ? again : deadline);
                    in.clear();
                    if (socket.read(in) >= 4 && in.getInt(0) == xid) {
                        return Unpooled.wrappedBuffer(in.flip());
                    }
                }
            }
        } catch (PortUnreachableException e) {
            throw new RpcbindException("nobody listens at this UDP port", e);
        }
    }

    private void await(Selector selector, long until) throws IOException {
        if (deadline - System.nanoTime() <= 0) {
            throw new SocketTimeoutException("no answer in time");
        }
        if (Thread.interrupted()) {
            throw new IOException("interrupted");
        }
        selector.select(Math.max(1, (until - System.nanoTime()) / 1_000_000));
        selector.selectedKeys().clear();
    }

    /** The address, for messages. */
    @Override
    public String toString() {
        return rpcbind instanceof InetSocketAddress inet
                ? NetUtil.toSocketAddressString(inet)
                : rpcbind.toString();
    }
}
