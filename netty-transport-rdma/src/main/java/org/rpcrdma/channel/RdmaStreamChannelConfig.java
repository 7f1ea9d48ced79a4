// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.channel.ChannelOption.ALLOW_HALF_CLOSURE;
import static io.netty.channel.ChannelOption.IP_TOS;
import static io.netty.channel.ChannelOption.SO_KEEPALIVE;
import static io.netty.channel.ChannelOption.SO_LINGER;
import static io.netty.channel.ChannelOption.SO_RCVBUF;
import static io.netty.channel.ChannelOption.SO_REUSEADDR;
import static io.netty.channel.ChannelOption.SO_SNDBUF;
import static io.netty.channel.ChannelOption.TCP_NODELAY;
import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkPositiveOrZero;
import static org.rpcrdma.channel.RdmaChannelOption.DRAIN_MILLIS;
import static org.rpcrdma.channel.RdmaChannelOption.KEEP_ALIVE_SECONDS;
import static org.rpcrdma.channel.RdmaChannelOption.RECEIVE_DEPTH;
import static org.rpcrdma.channel.RdmaChannelOption.SEND_DEPTH;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.SocketChannelConfig;
import java.util.Map;
import org.rpcrdma.Experimental;

/**
 * The configuration of a {@link RdmaStreamChannel}. Beside Netty's own options it takes these of sockets:
 *
 * <table>
 * <caption>Options</caption>
 * <tr><td>{@code SO_RCVBUF}<td>most bytes that the peer may send and the pipeline has not read, in two halves, which
 * begin with 64512 bytes each and grow when the peer fills them with few messages; from 512, default 516096. The
 * software RNIC has registered memory for what has arrived alone, other devices for both halves
 * <tr><td>{@code SO_SNDBUF}<td>most bytes under way; from 512, default 262144
 * <tr><td>{@code SO_LINGER}<td>seconds that a close waits until the peer has everything; 0 breaks the connection at
 *     once, negative (the default) goes by {@link RdmaChannelOption#DRAIN_MILLIS}
 * <tr><td>{@code SO_KEEPALIVE}<td>whether an idle stream checks for its peer, so that the loss of a silent one is
 * detected; default true
 * <tr><td>{@code TCP_NODELAY}<td>of no effect: what is flushed goes out at once
 * <tr><td>{@code ALLOW_HALF_CLOSURE}<td>whether the channel stays open when the peer has ended its direction;
 * default false
 * </table>
 *
 * <p>and {@link RdmaChannelOption#RECEIVE_DEPTH}, {@link RdmaChannelOption#SEND_DEPTH},
 * {@link RdmaChannelOption#DRAIN_MILLIS} and {@link RdmaChannelOption#KEEP_ALIVE_SECONDS}. Sizes and depths are fixed
 * once the channel connects.
 */
@Experimental
public final class RdmaStreamChannelConfig extends AbstractRdmaChannelConfig
        implements SocketChannelConfig {

    private static final int LEAST_BUFFER = 512;

    private static final int MOST_BUFFER = 1 << 30;

    private static final ChannelOptionTable<RdmaStreamChannelConfig> OPTIONS =
            new ChannelOptionTable<RdmaStreamChannelConfig>()
                    .with(
                            SO_RCVBUF,
                            c -> c.receiveBufferSize,
                            RdmaStreamChannelConfig::setReceiveBufferSize)
                    .with(
                            SO_SNDBUF,
                            c -> c.sendBufferSize,
                            RdmaStreamChannelConfig::setSendBufferSize)
                    .with(SO_LINGER, c -> c.soLinger, RdmaStreamChannelConfig::setSoLinger)
                    .with(SO_KEEPALIVE, c -> c.keepAlive, RdmaStreamChannelConfig::setKeepAlive)
                    .with(TCP_NODELAY, c -> c.tcpNoDelay, RdmaStreamChannelConfig::setTcpNoDelay)
                    .with(
                            ALLOW_HALF_CLOSURE,
                            c -> c.allowHalfClosure,
                            RdmaStreamChannelConfig::setAllowHalfClosure)
                    .with(
                            RECEIVE_DEPTH,
                            c -> c.receiveDepth,
                            RdmaStreamChannelConfig::setReceiveDepth)
                    .with(SEND_DEPTH, c -> c.sendDepth, RdmaStreamChannelConfig::setSendDepth)
                    .with(DRAIN_MILLIS, c -> c.drainMillis, RdmaStreamChannelConfig::setDrainMillis)
                    .with(
                            KEEP_ALIVE_SECONDS,
                            c -> c.keepAliveSeconds,
                            RdmaStreamChannelConfig::setKeepAliveSeconds);

    private volatile int receiveBufferSize = 504 << 10;
    private volatile int sendBufferSize = 256 << 10;
    private volatile int soLinger = -1;
    private volatile boolean keepAlive = true;
    private volatile boolean tcpNoDelay = true;
    private volatile boolean allowHalfClosure;
    private volatile int receiveDepth = 256;
    private volatile int sendDepth = 256;
    private volatile int drainMillis = 2000;
    private volatile int keepAliveSeconds = 60;

    RdmaStreamChannelConfig(RdmaStreamChannel channel) {
        super(channel);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), OPTIONS.options());
    }

    @Override
    public <T> T getOption(ChannelOption<T> option) {
        return OPTIONS.contains(option) ? OPTIONS.get(this, option) : super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (!OPTIONS.contains(option)) {
            return super.setOption(option, value);
        }
        OPTIONS.set(this, option, value);
        return true;
    }

    private void setReceiveDepth(int receives) {
        checkConfigurable(RECEIVE_DEPTH);
        receiveDepth = checkInRange(receives, 16, 1 << 15, "RECEIVE_DEPTH");
    }

    private void setSendDepth(int sends) {
        checkConfigurable(SEND_DEPTH);
        sendDepth = checkInRange(sends, 2 * PostedStreamWrites.RESERVE, 1 << 16, "SEND_DEPTH");
    }

    private void setDrainMillis(int millis) {
        drainMillis = checkPositiveOrZero(millis, "DRAIN_MILLIS");
    }

    private void setKeepAliveSeconds(int seconds) {
        keepAliveSeconds = checkInRange(seconds, 1, MOST_KEEP_ALIVE_SECONDS, "KEEP_ALIVE_SECONDS");
    }

    private void checkConfigurable(ChannelOption<?> option) {
        ((RdmaStreamChannel) channel).checkConfigurable(option);
    }

    /** {@return the most bytes that the peer may send and the pipeline has not read} */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferSize;
    }

    /**
     * Sets {@code SO_RCVBUF}. To be set before the channel connects or is registered.
     *
     * @param bytes from 512 to 2^30
     */
    @Override
    public RdmaStreamChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferSize = checkInRange(bytes, LEAST_BUFFER, MOST_BUFFER, "SO_RCVBUF");
        return this;
    }

    /** {@return the most bytes of registered memory under way to the peer} */
    @Override
    public int getSendBufferSize() {
        return sendBufferSize;
    }

    /**
     * Sets {@code SO_SNDBUF}. To be set before the channel connects or is registered.
     *
     * @param bytes from 512 to 2^30
     */
    @Override
    public RdmaStreamChannelConfig setSendBufferSize(int bytes) {
        sendBufferSize = checkInRange(bytes, LEAST_BUFFER, MOST_BUFFER, "SO_SNDBUF");
        return this;
    }

    /**
     * {@return seconds that a close waits; 0 breaks the connection at once; negative goes by {@link #getDrainMillis()}}
     */
    @Override
    public int getSoLinger() {
        return soLinger;
    }

    /**
     * Sets {@code SO_LINGER}.
     *
     * @param seconds 0 breaks the connection at once; negative goes by {@link #getDrainMillis()}
     */
    @Override
    public RdmaStreamChannelConfig setSoLinger(int seconds) {
        soLinger = seconds;
        return this;
    }

    /** {@return whether keep-alive is on: an idle stream checks for its peer} */
    @Override
    public boolean isKeepAlive() {
        return keepAlive;
    }

    @Override
    public RdmaStreamChannelConfig setKeepAlive(boolean isKept) {
        keepAlive = isKept;
        return this;
    }

    @Override
    public boolean isTcpNoDelay() {
        return tcpNoDelay;
    }

    /** Of no effect: what is flushed goes out at once. */
    @Override
    public RdmaStreamChannelConfig setTcpNoDelay(boolean isNoDelay) {
        tcpNoDelay = isNoDelay;
        return this;
    }

    @Override
    public int getTrafficClass() {
        return getOption(IP_TOS);
    }

    /** Of no effect. */
    @Override
    public RdmaStreamChannelConfig setTrafficClass(int trafficClass) {
        setOption(IP_TOS, trafficClass);
        return this;
    }

    @Override
    public boolean isReuseAddress() {
        return getOption(SO_REUSEADDR);
    }

    /** Of no effect: an address is free as soon as its channel is closed. */
    @Override
    public RdmaStreamChannelConfig setReuseAddress(boolean reuse) {
        setOption(SO_REUSEADDR, reuse);
        return this;
    }

    /** Of no effect. */
    @Override
    public RdmaStreamChannelConfig setPerformancePreferences(
            int connectionTime, int latency, int bandwidth) {
        return this;
    }

    /** {@return after how many seconds without traffic a stream checks for its peer} */
    public int getKeepAliveSeconds() {
        return keepAliveSeconds;
    }

    /** {@return the messages about data that the peer may have under way} */
    public int getReceiveDepth() {
        return receiveDepth;
    }

    /** {@return the most work requests posted and not complete} */
    public int getSendDepth() {
        return sendDepth;
    }

    /** {@return how long a closing channel waits until the peer has everything, in milliseconds} */
    public int getDrainMillis() {
        return drainMillis;
    }

    @Override
    public boolean isAllowHalfClosure() {
        return allowHalfClosure;
    }

    @Override
    public RdmaStreamChannelConfig setAllowHalfClosure(boolean allow) {
        allowHalfClosure = allow;
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public RdmaStreamChannelConfig setMaxMessagesPerRead(int maxMessagesPerRead) {
        super.setMaxMessagesPerRead(maxMessagesPerRead);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setWriteSpinCount(int writeSpinCount) {
        super.setWriteSpinCount(writeSpinCount);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    @Override
    public RdmaStreamChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark waterMark) {
        super.setWriteBufferWaterMark(waterMark);
        return this;
    }

    /** Sizes, depths and times. Any thread. */
    @Override
    public String toString() {
        return "RdmaStreamChannelConfig(SO_RCVBUF "
                + receiveBufferSize
                + ", SO_SNDBUF "
                + sendBufferSize
                + ", "
                + receiveDepth
                + " receives, "
                + sendDepth
                + " sends, SO_LINGER "
                + soLinger
                + " s, drains for "
                + drainMillis
                + " ms, SO_KEEPALIVE "
                + (keepAlive ? keepAliveSeconds + " s" : "off")
                + (allowHalfClosure ? ", half closure)" : ")");
    }
}
