// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Passes one TCP connection on, up to a byte in one direction. */
final class CutProxy implements AutoCloseable {

    /** Whose bytes are counted. */
    enum Direction {
        TO_ACCEPTING,
        TO_CONNECTING
    }

    /** What happens at the byte. */
    enum End {
        /** Both connections end in an orderly way. */
        FINISH,
        /** Both connections are reset. */
        RESET,
        /** Nothing comes any more in that direction. */
        SILENCE
    }

    private final ServerSocket listener;
    private final SocketAddress target;
    private final Direction direction;
    private final End end;
    private final int limit;
    private final CountDownLatch reached = new CountDownLatch(1);
    private final Thread thread;
    private Socket connecting;
    private Socket accepting;
    private final AtomicInteger passed = new AtomicInteger();

    CutProxy(SocketAddress target, Direction direction, End end, int limit) throws IOException {
        this.target = target;
        this.direction = direction;
        this.end = end;
        this.limit = limit;
        listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        thread = new Thread(this::run, "cut-proxy");
        thread.start();
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    /** The bytes that went in the counted direction. */
    int passed() {
        return passed.get();
    }

    void awaitReached() throws InterruptedException {
        reached.await();
    }

    private void run() {
        try {
            connecting = listener.accept();
            accepting = new Socket();
            accepting.connect(target);
            connecting.setTcpNoDelay(true);
            accepting.setTcpNoDelay(true);
            Thread back =
                    new Thread(
                            () -> pump(accepting, connecting, Direction.TO_CONNECTING),
                            "cut-proxy-back");
            back.start();
            pump(connecting, accepting, Direction.TO_ACCEPTING);
            back.join();
        } catch (IOException | InterruptedException e) {
            // The listener was closed: nobody has connected.
        } finally {
            reached.countDown();
        }
    }

    private void pump(Socket from, Socket to, Direction way) {
        byte[] bytes = new byte[4096];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            boolean isCounted = way == direction;
            while (!isCounted || passed.get() < limit) {
                int room = isCounted ? Math.min(bytes.length, limit - passed.get()) : bytes.length;
                int length = in.read(bytes, 0, room);
                if (length < 0) {
                    break;
                }
                passed.addAndGet(isCounted ? length : 0);
                out.write(bytes, 0, length);
            }
            if (isCounted && passed.get() == limit) {
                reached.countDown();
                while (end == End.SILENCE && in.read(bytes) >= 0) {
                    // What still comes is lost.
                }
                if (end == End.RESET) {
                    from.setSoLinger(true, 0);
                    to.setSoLinger(true, 0);
                }
            }
        } catch (IOException e) {
            // One of the two has ended, and so does the other.
        } finally {
            close(from);
            close(to);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It is gone.
        }
    }

    @Override
    public void close() throws Exception {
        listener.close();
        thread.join();
    }
}
