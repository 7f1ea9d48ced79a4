// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.internal.ThreadExecutorMap;
import java.io.Closeable;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcPromise;
import org.rpcrdma.codec.rpc.RpcTransport;

/**
 * A requester on one byte stream with record marking (RFC 5531, 11): TCP, a domain socket, or a {@link
 * org.rpcrdma.channel.RdmaStreamChannel}. It lives as long as its channel: calls are never sent again, and the options
 * about that have no effect. The time-out of a call is 60 seconds unless its options say otherwise.
 *
 * <p>Calls fail with {@link CallTimeoutException} and {@link ConnectionLostException}. A reply to a call with sinks has
 * all its results in its content, and no sinks.
 *
 * <p>Thread-safe. Futures complete on the event loop of the channel: do not block there.
 */
public final class StreamRpcTransport implements RpcTransport, Closeable {

    private static final int CLOSE_SECONDS = 10;

    private final Channel channel;
    private final StreamCallController controller;

    private StreamRpcTransport(Channel channel, ChannelHandler framing) {
        this.channel = channel;
        controller = new StreamCallController(channel);
        channel.pipeline().addLast(framing, new StreamReplyHandler(controller));
    }

    /**
     * Connects.
     *
     * @param bootstrap with group, channel class and options; copied, without its handler
     * @param remoteAddress of the server
     * @return the transport, to be closed by the caller; fails with the reason why there is no connection, such as a
     *     {@link java.net.ConnectException}
     */
    public static RpcFuture<StreamRpcTransport> connect(
            Bootstrap bootstrap, SocketAddress remoteAddress) {
        RpcPromise<StreamRpcTransport> made = new RpcPromise<>(GlobalEventExecutor.INSTANCE);
        bootstrap
                .clone()
                .handler(
                        new ChannelInitializer<>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                // The transport is added when the channel is connected.
                            }
                        })
                .connect(remoteAddress)
                .addListener((ChannelFuture connected) -> complete(connected, made));
        return made;
    }

    private static void complete(ChannelFuture connected, RpcPromise<StreamRpcTransport> made) {
        if (!connected.isSuccess()) {
            made.tryFailure(connected.cause());
        } else if (!made.trySuccess(on(connected.channel()))) {
            connected.channel().close();
        }
    }

    /**
     * Adds a requester to a channel, with a {@link RecordMarkingHandler} for records of the default length.
     *
     * @param channel a connected byte stream; closed with the transport
     * @return the transport
     */
    public static StreamRpcTransport on(Channel channel) {
        return on(channel, new RecordMarkingHandler());
    }

    /**
     * As {@link #on(Channel)}, with another codec of record marking.
     *
     * @param channel as there
     * @param framing reads whole messages as buffers, and writes them
     * @return as there
     */
    public static StreamRpcTransport on(Channel channel, ChannelHandler framing) {
        return new StreamRpcTransport(channel, framing);
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return controller.intake().submit(call, options, reader);
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return controller.intake().submitMarshalled(marshaller, options, reader);
    }

    /** {@return the byte stream} */
    public Channel channel() {
        return channel;
    }

    /** {@return the calls that have neither a reply nor an error yet} */
    public int outstandingCalls() {
        return controller.intake().outstanding();
    }

    /**
     * Closes the channel, and waits for it, {@value #CLOSE_SECONDS} seconds at most; outstanding calls fail with {@link
     * ConnectionLostException}. On the event loop it does not wait.
     */
    @Override
    public void close() {
        ChannelFuture end = channel.close();
        if (ThreadExecutorMap.currentExecutor() != null) {
            return; // a close may need this event loop
        }
        try {
            end.await(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "StreamRpcTransport(" + channel + ", " + outstandingCalls() + " calls outstanding)";
    }
}
