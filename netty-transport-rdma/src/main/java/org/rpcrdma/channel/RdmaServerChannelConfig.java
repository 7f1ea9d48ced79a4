// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.channel.ChannelOption.SO_BACKLOG;
import static io.netty.channel.ChannelOption.SO_RCVBUF;
import static io.netty.channel.ChannelOption.SO_REUSEADDR;
import static io.netty.util.internal.ObjectUtil.checkNotNull;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ServerSocketChannelConfig;
import java.util.Map;
import org.rpcrdma.channel.admission.AdmissionPolicy;

/**
 * The configuration of a {@link RdmaServerChannel} or a {@link RdmaServerStreamChannel}; their children have a {@link
 * RdmaChannelConfig} or a {@link RdmaStreamChannelConfig}.
 */
public final class RdmaServerChannelConfig extends AbstractRdmaChannelConfig
        implements ServerSocketChannelConfig {

    private static final ChannelOptionTable<RdmaServerChannelConfig> OPTIONS =
            new ChannelOptionTable<RdmaServerChannelConfig>()
                    .with(
                            SO_BACKLOG,
                            RdmaServerChannelConfig::getBacklog,
                            RdmaServerChannelConfig::setBacklog)
                    .with(
                            RdmaChannelOption.ADMISSION_POLICY,
                            RdmaServerChannelConfig::getAdmissionPolicy,
                            RdmaServerChannelConfig::setAdmissionPolicy)
                    .with(
                            RdmaChannelOption.ADMISSION_TIMEOUT_MILLIS,
                            RdmaServerChannelConfig::getAdmissionTimeoutMillis,
                            RdmaServerChannelConfig::setAdmissionTimeoutMillis)
                    .with(
                            RdmaChannelOption.MAX_UNDECIDED_REQUESTS,
                            RdmaServerChannelConfig::getMaxUndecidedRequests,
                            RdmaServerChannelConfig::setMaxUndecidedRequests);

    private volatile int backlog = 128;
    private volatile AdmissionPolicy admissionPolicy = AdmissionPolicy.acceptAll();
    private volatile int admissionTimeoutMillis = 5000;
    private volatile int maxUndecidedRequests = 64;

    RdmaServerChannelConfig(AbstractRdmaServerChannel channel) {
        super(channel, new ServerChannelRecvByteBufAllocator());
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
        if (!OPTIONS.contains(option)) {
            return super.setOption(option, value);
        }
        validate(option, value);
        OPTIONS.set(this, option, value);
        return true;
    }

    /** {@return who decides which peers may connect} */
    public AdmissionPolicy getAdmissionPolicy() {
        return admissionPolicy;
    }

    /**
     * Sets {@link RdmaChannelOption#ADMISSION_POLICY}.
     *
     * @param policy called on the event loop of the channel
     * @return this configuration
     */
    public RdmaServerChannelConfig setAdmissionPolicy(AdmissionPolicy policy) {
        admissionPolicy = checkNotNull(policy, "ADMISSION_POLICY");
        return this;
    }

    /** {@return how long a decision may take, in milliseconds} */
    public int getAdmissionTimeoutMillis() {
        return admissionTimeoutMillis;
    }

    /**
     * Sets {@link RdmaChannelOption#ADMISSION_TIMEOUT_MILLIS}.
     *
     * @param millis from 1
     * @return this configuration
     */
    public RdmaServerChannelConfig setAdmissionTimeoutMillis(int millis) {
        admissionTimeoutMillis = checkPositive(millis, "ADMISSION_TIMEOUT_MILLIS");
        return this;
    }

    /** {@return the most connection requests that the policy has yet to decide on} */
    public int getMaxUndecidedRequests() {
        return maxUndecidedRequests;
    }

    /**
     * Sets {@link RdmaChannelOption#MAX_UNDECIDED_REQUESTS}.
     *
     * @param requests from 1
     * @return this configuration
     */
    public RdmaServerChannelConfig setMaxUndecidedRequests(int requests) {
        maxUndecidedRequests = checkPositive(requests, "MAX_UNDECIDED_REQUESTS");
        return this;
    }

    /**
     * No effect, like all socket options except {@code SO_BACKLOG}: children have their own {@code SO_RCVBUF}.
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
        boolean isDefault = admissionPolicy == AdmissionPolicy.acceptAll();
        return "RdmaServerChannelConfig(backlog "
                + backlog
                + (isDefault ? "" : ", admission policy " + admissionPolicy)
                + ')';
    }
}
