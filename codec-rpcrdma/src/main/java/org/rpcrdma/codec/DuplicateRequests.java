// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.collection.IntObjectHashMap;
import java.net.InetAddress;
import java.util.concurrent.RejectedExecutionException;
import java.util.zip.CRC32C;

/** One connection's side of a {@link DuplicateRequestCache}: which of its calls the handlers are executing. */
final class DuplicateRequests {

    /** So much of a call goes into its checksum: the header and the first arguments. */
    private static final int CHECKED_BYTES = 256;

    /** What becomes of a call that is a duplicate. On the event loop. */
    interface Target {
        /** The reply is owned by the target. */
        void replay(RpcRdmaExchange call, ByteBuf reply);

        void execute(RpcRdmaExchange call);
    }

    private final RpcRdmaConnection connection;
    private final DuplicateRequestCache cache;
    private final Target target;
    private final CRC32C crc = new CRC32C();

    /** Calls that a handler has to answer, by XID. */
    private final IntObjectHashMap<DuplicateRequestCache.Call> executing = new IntObjectHashMap<>();

    DuplicateRequests(RpcRdmaConnection connection, DuplicateRequestCache cache, Target target) {
        this.connection = connection;
        this.cache = cache;
        this.target = target;
    }

    /**
     * Returns whether the call goes to the handlers now. Otherwise it is answered from the cache, or waits with its message
     * in the exchange.
     */
    boolean admit(RpcRdmaExchange exchange, ByteBuf message, RpcCallHeader rpc) {
        if (!cache.covers(rpc.program(), rpc.version(), rpc.procedure())) {
            return true;
        }
        InetAddress client = connection.channel().remoteAddress().getAddress();
        DuplicateRequestCache.Call call =
                new DuplicateRequestCache.Call(
                        client,
                        exchange.xid,
                        rpc.program(),
                        rpc.version(),
                        rpc.procedure(),
                        message.readableBytes(),
                        checksum(message));
        DuplicateRequestCache.Lookup found = cache.begin(call, new Waiting(exchange, call));
        switch (found.progress()) {
            case NEW -> executing.put(exchange.xid, call);
            case IN_PROGRESS -> {
                exchange.message = message;
                exchange.state = RpcRdmaExchange.State.WAITING;
                connection.metrics().increment(RpcRdmaCounter.DUPLICATES_WAITING);
            }
            case DONE -> {
                message.release();
                replay(exchange, found.reply());
            }
            default -> throw new IllegalStateException(found.progress().toString());
        }
        return found.progress() == DuplicateRequestCache.Progress.NEW;
    }

    private int checksum(ByteBuf message) {
        crc.reset();
        int length = Math.min(CHECKED_BYTES, message.readableBytes());
        message.forEachByte(
                message.readerIndex(),
                length,
                octet -> {
                    crc.update(octet);
                    return true;
                });
        return (int) crc.getValue();
    }

    private void replay(RpcRdmaExchange exchange, ByteBuf reply) {
        connection.metrics().increment(RpcRdmaCounter.DUPLICATES_REPLAYED);
        target.replay(exchange, reply);
    }

    boolean isExecuting(int xid) {
        return executing.containsKey(xid);
    }

    /** The answer of a handler cannot be kept. */
    void forget(int xid) {
        DuplicateRequestCache.Call call = executing.remove(xid);
        if (call != null) {
            cache.abandon(call);
        }
    }

    /** A handler has answered; the message stays with the caller. */
    void answered(int xid, ByteBuf reply) {
        DuplicateRequestCache.Call call = executing.remove(xid);
        if (call != null) {
            cache.done(call, reply);
        }
    }

    /** The connection is lost: nobody sees the answers of the handlers any more. */
    void close() {
        DuplicateRequestCache.Call[] calls =
                executing.values().toArray(new DuplicateRequestCache.Call[0]);
        executing.clear();
        for (DuplicateRequestCache.Call call : calls) {
            cache.abandon(call);
        }
    }

    /** A call that waits for the answer to an earlier one. */
    private final class Waiting implements DuplicateRequestCache.Waiter {
        private final RpcRdmaExchange exchange;
        private final DuplicateRequestCache.Call call;

        Waiting(RpcRdmaExchange exchange, DuplicateRequestCache.Call call) {
            this.exchange = exchange;
            this.call = call;
        }

        /** The exchange may have ended meanwhile, and serve another call. */
        private boolean isCurrent() {
            return connection.isStarted()
                    && connection.served(call.xid()) == exchange
                    && exchange.state == RpcRdmaExchange.State.WAITING;
        }

        @Override
        public void answered(ByteBuf reply) {
            boolean isTaken =
                    onEventLoop(
                            () -> {
                                if (isCurrent()) {
                                    exchange.releaseMessage();
                                    replay(exchange, reply);
                                } else {
                                    reply.release();
                                }
                            });
            if (!isTaken) {
                reply.release();
            }
        }

        @Override
        public void abandoned() {
            boolean isTaken =
                    onEventLoop(
                            () -> {
                                if (isCurrent()) {
                                    executing.put(call.xid(), call);
                                    target.execute(exchange);
                                } else {
                                    cache.abandon(call);
                                }
                            });
            if (!isTaken) {
                cache.abandon(call);
            }
        }

        /** False when the event loop has ended, and the connection with it. */
        private boolean onEventLoop(Runnable task) {
            try {
                connection.channel().eventLoop().execute(task);
                return true;
            } catch (RejectedExecutionException e) {
                return false;
            }
        }
    }
}
