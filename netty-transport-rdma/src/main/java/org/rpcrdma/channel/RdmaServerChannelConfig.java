// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.channel.ChannelOption.SO_BACKLOG;
import static io.netty.channel.ChannelOption.SO_RCVBUF;
import static io.netty.channel.ChannelOption.SO_REUSEADDR;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ServerSocketChannelConfig;
import java.util.Map;

/**
 * The configuration of a {@link RdmaServerChannel} or a {@link RdmaServerStreamChannel}; their children have a {@link
 * RdmaChannelConfig} or a {@link RdmaStreamChannelConfig}.
 */
public final class RdmaServerChannelConfig extends AbstractRdmaChannelConfig
        implements ServerSocketChannelConfig {

    private volatile int backlog = 128;

    RdmaServerChannelConfig(AbstractRdmaServerChannel channel) {
        super(channel, new ServerChannelRecvByteBufAllocator());
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), SO_BACKLOG);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        return option == SO_BACKLOG ? (T) (Integer) backlog : super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        if (option != SO_BACKLOG) {
            return super.setOption(option, value);
        }
        validate(option, value);
        setBacklog((Integer) value);
        return true;
    }

    /**
     * Of no effect, as all options of sockets but {@code SO_BACKLOG}: children have {@code SO_RCVBUF} of their own.
     */
    @Override
    public int getReceiveBufferSize() {
        return getOption(SO_RCVBUF);
    }

    /** Of no effect. */
    @Override
    public RdmaServerChannelConfig setReceiveBufferSize(int bytes) {
        setOption(SO_RCVBUF, checkPositive(bytes, "SO_RCVBUF"));
        return this;
    }

    /** Of no effect: an address is free as soon as its listener is closed. */
    @Override
    public boolean isReuseAddress() {
        return getOption(SO_REUSEADDR);
    }

    /** Of no effect. */
    @Override
    public RdmaServerChannelConfig setReuseAddress(boolean reuse) {
        setOption(SO_REUSEADDR, reuse);
        return this;
    }

    /** Of no effect. */
    @Override
    public RdmaServerChannelConfig setPerformancePreferences(
            int connectionTime, int latency, int bandwidth) {
        return this;
    }

    /**
     * {@return the most connection requests that wait to be accepted; further ones wait in the network or are refused}
     */
    @Override
    public int getBacklog() {
        return backlog;
    }

    /**
     * Sets {@code SO_BACKLOG}, from 1; default 128. To be set before the channel is bound.
     *
     * @param requests from 1
     * @return this configuration
     */
    @Override
    public RdmaServerChannelConfig setBacklog(int requests) {
        backlog = checkPositive(requests, "backlog");
        return this;
    }

    // ------------------------------------------------------------------ Netty's setters, for
    // chains

    @Override
    public RdmaServerChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public RdmaServerChannelConfig setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setWriteBufferHighWaterMark(int bytes) {
        super.setWriteBufferHighWaterMark(bytes);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setWriteBufferLowWaterMark(int bytes) {
        super.setWriteBufferLowWaterMark(bytes);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark mark) {
        super.setWriteBufferWaterMark(mark);
        return this;
    }

    @Override
    public RdmaServerChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "RdmaServerChannelConfig(backlog " + backlog + ')';
    }
}
