// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;

/** Clients that always have the same number of calls outstanding: NULL, READ and WRITE of 4 KiB, READ of 64 KiB. */
final class HonestClients {

    private static final int SMALL = 4096;
    private static final int LARGE = 1 << 16;

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private final List<RpcRdmaClient> clients = new ArrayList<>();
    private final InetSocketAddress server;
    private final LongAdder answered = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer(SMALL).writeZero(SMALL);
    private volatile boolean isStopped;

    HonestClients(int port, int connections, int outstanding) {
        server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        for (int i = 0; i < connections; i++) {
            RpcRdmaClient client = RpcRdmaClient.builder(group, server).build();
            clients.add(client);
            for (int j = 0; j < outstanding; j++) {
                next(client, j);
            }
        }
    }

    private void next(RpcRdmaClient client, int number) {
        if (isStopped) {
            return;
        }
        client.call(call(number % 4))
                .addListener(
                        (Future<ByteBuf> call) -> {
                            if (call.isSuccess()) {
                                call.getNow().release();
                                answered.increment();
                            } else if (!isStopped) {
                                failed.increment();
                                failure.set(call.cause());
                            }
                            next(client, number + 1);
                        });
    }

    private ByteBuf call(int kind) {
        return switch (kind) {
            case 0 -> Nfs3Messages.nullCall(ByteBufAllocator.DEFAULT, 0);
            case 1 -> Nfs3Messages.readCall(ByteBufAllocator.DEFAULT, 0, SMALL);
            case 2 -> Nfs3Messages.writeCall(ByteBufAllocator.DEFAULT, 0, data);
            default -> Nfs3Messages.readCall(ByteBufAllocator.DEFAULT, 0, LARGE);
        };
    }

    /** Calls a second, for so long. */
    double rate(double seconds) throws InterruptedException {
        long start = System.nanoTime();
        long before = answered.sum();
        Thread.sleep((long) (seconds * 1000));
        return (answered.sum() - before) * 1e9 / (System.nanoTime() - start);
    }

    /** Milliseconds until a new client has its first answer; -1 if it has none. */
    long newcomerMillis() {
        long start = System.nanoTime();
        RpcRdmaClient client = RpcRdmaClient.builder(group, server).build();
        try {
            Future<ByteBuf> call = client.call(call(0)).awaitUninterruptibly();
            if (!call.isSuccess()) {
                return -1;
            }
            call.getNow().release();
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        } finally {
            client.close();
        }
    }

    long failed() {
        return failed.sum();
    }

    /** {@return why the last call failed that did, or {@code null}} */
    Throwable failure() {
        return failure.get();
    }

    void close() {
        isStopped = true;
        clients.forEach(RpcRdmaClient::close);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).awaitUninterruptibly();
        data.release();
    }
}
