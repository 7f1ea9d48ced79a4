// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaLatencyListener;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.access.CodecAccess;
import org.rpcrdma.codec.internal.RpcRdmaFlightEvents;
import org.rpcrdma.codec.internal.UserExceptionLog;

/**
 * Connects the channels of one connection of a client, one attempt at a time, and reports attempts to the listeners.
 * Event loop only.
 */
final class ClientChannelConnector {

    private final RpcRdmaClient.Settings settings;
    private final Bootstrap bootstrap;
    private final ReconnectBackOff backOff;
    private final ResponderAddressRotation addresses;

    /** Address of the current or the last attempt; {@code null} before the first one. */
    private SocketAddress address;

    /** Channel that is connecting; {@code null} while none is. */
    private Channel attempt;

    /**
     * @param backOff told of each attempt; the caller of {@link #connect} checks it
     * @param replies creates the handler after the codec of each channel
     */
    ClientChannelConnector(
            RpcRdmaClient.Settings settings,
            EventLoop loop,
            ReconnectBackOff backOff,
            Supplier<? extends ChannelHandler> replies) {
        this.settings = settings;
        this.backOff = backOff;
        addresses =
                new ResponderAddressRotation(
                        settings.responder(), loop, settings.connectTimeoutMillis());
        bootstrap =
                settings.bootstrap()
                        .clone(loop)
                        .channel(RdmaChannel.class)
                        .option(
                                ChannelOption.CONNECT_TIMEOUT_MILLIS,
                                settings.connectTimeoutMillis())
                        .handler(initializer(settings, replies));
    }

    private static ChannelInitializer<RdmaChannel> initializer(
            RpcRdmaClient.Settings settings, Supplier<? extends ChannelHandler> replies) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(RdmaChannel made) {
                ChannelPipeline pipeline = made.pipeline();
                pipeline.addLast(
                        new RpcRdmaCodec(settings.calls().config(), settings.calls().metrics()));
                pipeline.addLast(replies.get());
                if (settings.reverseProgram() != null) {
                    pipeline.addLast(settings.reverseProgram().get());
                }
                if (settings.handler() != null) {
                    pipeline.addLast(settings.handler().get());
                }
            }
        };
    }

    /**
     * Begins an attempt, without checking the back-off. A connected channel reports itself by its pipeline.
     *
     * @param onFailure receives the channel, {@code null} where no address was found, and the cause
     */
    void connect(BiConsumer<Channel, Throwable> onFailure) {
        backOff.attempted();
        addresses.next(next -> connect(next, onFailure), cause -> onFailure.accept(null, cause));
    }

    private void connect(SocketAddress next, BiConsumer<Channel, Throwable> onFailure) {
        address = next;
        ChannelFuture future = bootstrap.connect(next);
        attempt = future.channel();
        future.addListener(
                (ChannelFutureListener)
                        made -> {
                            if (!made.isSuccess()) {
                                onFailure.accept(made.channel(), made.cause());
                            }
                        });
    }

    /** Aborts the attempt, which fails. */
    void abort() {
        if (attempt == null) {
            addresses.abort(new ClosedChannelException());
        } else {
            attempt.close();
        }
    }

    /** A channel failed to connect; returns whether it belongs to the current attempt. */
    boolean recordFailure(Channel failed) {
        if (attempt != null && attempt != failed) {
            return false;
        }
        CodecAccess.CODEC.increment(metrics(), RpcRdmaCounter.CONNECTS_FAILED);
        ended(false);
        return true;
    }

    /** The attempt has succeeded. */
    void succeeded() {
        ended(true);
    }

    private void ended(boolean isConnected) {
        attempt = null;
        long nanos = backOff.sinceAttempt();
        RpcRdmaFlightEvents.connect(address(), isConnected, nanos);
        for (RpcRdmaLatencyListener listener : CodecAccess.CODEC.listeners(metrics())) {
            try {
                listener.connectEnded(isConnected, nanos);
            } catch (Throwable t) {
                UserExceptionLog.failed("RpcRdmaLatencyListener.connectEnded", t);
            }
        }
    }

    /** What an attempt goes to: the service as long as no address of it is known. */
    Object address() {
        return address == null ? settings.responder() : address;
    }

    private RpcRdmaMetrics metrics() {
        return settings.calls().metrics();
    }
}
