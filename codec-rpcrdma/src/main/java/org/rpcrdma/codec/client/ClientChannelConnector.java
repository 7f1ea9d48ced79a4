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
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaListener;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.internal.FlightEvents;
import org.rpcrdma.codec.internal.UserCode;

/**
 * Makes the channels of one connection of a client, one attempt at a time, and tells whoever counts them. Event loop
 * only.
 */
final class ClientChannelConnector {

    private final RpcRdmaClient.Settings settings;
    private final Bootstrap bootstrap;
    private final ReconnectBackOff backOff;

    /** What connects; {@code null} while nothing does. */
    private Channel attempt;

    /**
     * @param backOff is told when an attempt begins; whoever connects looks at it before
     * @param replies makes the handler behind the codec of each channel
     */
    ClientChannelConnector(
            RpcRdmaClient.Settings settings,
            EventLoop loop,
            ReconnectBackOff backOff,
            Supplier<? extends ChannelHandler> replies) {
        this.settings = settings;
        this.backOff = backOff;
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
                pipeline.addLast(new RpcRdmaCodec(settings.calls().config()));
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
     * Begins an attempt, whatever the back-off says. A channel that is made says so itself, by its pipeline.
     *
     * @param onFailure is given the channel and the cause
     */
    void connect(BiConsumer<Channel, Throwable> onFailure) {
        backOff.attempted();
        ChannelFuture future = bootstrap.connect(settings.remoteAddress());
        attempt = future.channel();
        future.addListener(
                (ChannelFutureListener)
                        made -> {
                            if (!made.isSuccess()) {
                                onFailure.accept(made.channel(), made.cause());
                            }
                        });
    }

    /** The attempt is not wanted any more: it fails. */
    void abort() {
        attempt.close();
    }

    /** A channel was not made; returns whether that was the attempt, and not one before. */
    boolean failed(Channel failed) {
        if (attempt != null && attempt != failed) {
            return false;
        }
        InternalCodec.increment(metrics(), RpcRdmaCounter.CONNECTS_FAILED);
        ended(false);
        return true;
    }

    /** The channel is there. */
    void succeeded() {
        ended(true);
    }

    private void ended(boolean isConnected) {
        attempt = null;
        long nanos = backOff.sinceAttempt();
        FlightEvents.connect(settings.remoteAddress(), isConnected, nanos);
        for (RpcRdmaListener listener : InternalCodec.listeners(metrics())) {
            try {
                listener.connectEnded(isConnected, nanos);
            } catch (Throwable t) {
                UserCode.failed("RpcRdmaListener.connectEnded", t);
            }
        }
    }

    private RpcRdmaMetrics metrics() {
        return settings.calls().config().metrics();
    }
}
