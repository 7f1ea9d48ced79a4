// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Two non-blocking sockets of the JDK without selector or framing: what TCP itself can do. A message goes from one direct
 * buffer into another; who reads gives a request of {@value #REQUEST} bytes.
 */
final class SocketExchange implements Exchange {

    static final int REQUEST = 28;

    private final SocketChannel caller;
    private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST);
    private final ByteBuffer out;
    private final ByteBuffer in;
    private final int bytes;
    private final Thread thread;
    private volatile int expected;
    private volatile IOException failure;
    private volatile boolean ended;

    SocketExchange(int bytes) throws IOException {
        this.bytes = bytes;
        out = ByteBuffer.allocateDirect(bytes);
        in = ByteBuffer.allocateDirect(bytes);
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            caller = open(SocketChannel.open(server.getLocalAddress()));
            SocketChannel other = open(server.accept());
            thread = new Thread(() -> echo(other), "echo");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static SocketChannel open(SocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.configureBlocking(false);
        return channel;
    }

    private void echo(SocketChannel channel) {
        ByteBuffer received = ByteBuffer.allocateDirect(Math.max(bytes, REQUEST));
        ByteBuffer answer = ByteBuffer.allocateDirect(bytes).limit(0);
        int owed = 0;
        try (channel) {
            while (!ended) {
                received.limit(expected);
                if (channel.read(received) < 0) {
                    return;
                }
                if (!received.hasRemaining() && expected > 0) {
                    owed++;
                    received.clear();
                }
                if (answer.hasRemaining()) {
                    channel.write(answer);
                } else if (owed > 0) {
                    owed--;
                    channel.write(answer.clear());
                }
            }
        } catch (IOException e) {
            failure = e;
        }
    }

    @Override
    public void sends(int count, int window) throws IOException {
        run(count, window, out);
    }

    @Override
    public void writes(int count, int window) throws IOException {
        run(count, window, out);
    }

    @Override
    public void reads(int count, int window) throws IOException {
        run(count, window, request);
    }

    private void run(int count, int window, ByteBuffer message) throws IOException {
        expected = message.capacity();
        int sent = 0;
        int arrived = 0;
        message.position(message.capacity());
        in.clear();
        while (arrived < count) {
            if (message.hasRemaining()) {
                caller.write(message);
            } else if (sent < count && sent - arrived < window) {
                sent++;
                caller.write(message.clear());
            }
            if (caller.read(in) < 0 || failure != null) {
                throw new IOException("the other end has ended", failure);
            }
            if (!in.hasRemaining()) {
                in.clear();
                arrived++;
            }
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        ended = true;
        thread.join();
        caller.close();
    }
}
