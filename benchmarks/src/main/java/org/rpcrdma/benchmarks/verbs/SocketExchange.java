// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Two non-blocking sockets without selector or framing: what TCP itself can do. A message goes from one direct
 * buffer into another; who reads gives a request of {@value #REQUEST} bytes.
 */
final class SocketExchange implements Exchange {

    static final int REQUEST = 28;

    /** Where the native transport puts a peer's address. */
    private static final int ADDRESS_BYTES = 26;

    private final ByteChannel caller;
    private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST);
    private final ByteBuffer out;
    private final ByteBuffer in;
    private final int bytes;
    private final Thread thread;
    private volatile int expected;
    private volatile IOException failure;
    private volatile boolean ended;

    /**
     * @param caller not blocking, and connected to the other one
     */
    SocketExchange(int bytes, ByteChannel caller, ByteChannel other) {
        this.bytes = bytes;
        this.caller = caller;
        out = ByteBuffer.allocateDirect(bytes);
        in = ByteBuffer.allocateDirect(bytes);
        thread = new Thread(() -> echo(other), "echo");
        thread.setDaemon(true);
        thread.start();
    }

    /** On sockets of the JDK. */
    static SocketExchange nio(int bytes) throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel caller = open(SocketChannel.open(server.getLocalAddress()));
            return new SocketExchange(bytes, caller, open(server.accept()));
        }
    }

    private static SocketChannel open(SocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.configureBlocking(false);
        return channel;
    }

    /** On sockets of Netty's native transport, called without its event loop. */
    static SocketExchange unix(int bytes) throws IOException {
        Socket server = Socket.newSocketStream();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.listen(1);
        Socket caller = Socket.newSocketStream();
        boolean connected = caller.connect(server.localAddress());
        int accepted = -1;
        while (accepted < 0) {
            accepted = server.accept(new byte[ADDRESS_BYTES]);
        }
        while (!connected) {
            connected = caller.finishConnect();
        }
        server.close();
        return new SocketExchange(
                bytes, new UnixChannel(caller), new UnixChannel(new Socket(accepted)));
    }

    private void echo(ByteChannel channel) {
        ByteBuffer received = ByteBuffer.allocateDirect(Math.max(bytes, REQUEST));
        ByteBuffer answer = ByteBuffer.allocateDirect(bytes).limit(0);
        int waiting = 0;
        int owed = 0;
        try (channel) {
            while (!ended) {
                int read = channel.read(received.clear());
                if (read < 0) {
                    return;
                }
                for (waiting += read; waiting > 0 && waiting >= expected; waiting -= expected) {
                    owed++;
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

    /** Reads and writes direct buffers by one native call each. */
    private record UnixChannel(Socket socket) implements ByteChannel {

        UnixChannel {
            try {
                socket.setTcpNoDelay(true);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public int read(ByteBuffer target) throws IOException {
            int read = socket.recv(target, target.position(), target.limit());
            target.position(target.position() + Math.max(read, 0));
            return read;
        }

        @Override
        public int write(ByteBuffer source) throws IOException {
            int written = socket.send(source, source.position(), source.limit());
            source.position(source.position() + written);
            return written;
        }

        @Override
        public boolean isOpen() {
            return socket.isOpen();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
