// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.channel.ChannelOption.SO_KEEPALIVE;
import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkNotNull;
import static io.netty.util.internal.ObjectUtil.checkPositive;
import static io.netty.util.internal.ObjectUtil.checkPositiveOrZero;
import static org.rpcrdma.channel.RdmaChannelOption.DRAIN_MILLIS;
import static org.rpcrdma.channel.RdmaChannelOption.INCOMPLETE_BYTES_PER_ADDRESS;
import static org.rpcrdma.channel.RdmaChannelOption.KEEP_ALIVE_SECONDS;
import static org.rpcrdma.channel.RdmaChannelOption.MAX_SEND_SIZE;
import static org.rpcrdma.channel.RdmaChannelOption.PEER_PRIVATE_DATA;
import static org.rpcrdma.channel.RdmaChannelOption.PRIVATE_DATA;
import static org.rpcrdma.channel.RdmaChannelOption.READ_DEPTH;
import static org.rpcrdma.channel.RdmaChannelOption.READ_TIMEOUT_MILLIS;
import static org.rpcrdma.channel.RdmaChannelOption.RECEIVE_DEPTH;
import static org.rpcrdma.channel.RdmaChannelOption.RECEIVE_SIZE;
import static org.rpcrdma.channel.RdmaChannelOption.REGISTRATION;
import static org.rpcrdma.channel.RdmaChannelOption.SEND_DEPTH;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import java.util.Map;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * The configuration of a {@link RdmaChannel}: see {@link RdmaChannelOption} for units, defaults and limits.
 * {@link io.netty.channel.ChannelOption#SO_KEEPALIVE} is on by default.
 */
public final class RdmaChannelConfig extends AbstractRdmaChannelConfig {

    /** The least size that every receiver must accept (RFC 8166, 3.3.3). */
    private static final int LEAST_RECEIVE_SIZE = 1024;

    private static final int MOST_READS = 128;

    /** Assume the peer's receive size to be that of this end, until it is announced. */
    private static final int AS_RECEIVED = 0;

    private static final byte[] NO_DATA = {};

    private static final ChannelOptionTable<RdmaChannelConfig> OPTIONS =
            new ChannelOptionTable<RdmaChannelConfig>()
                    .with(RECEIVE_SIZE, c -> c.receiveSize, RdmaChannelConfig::setReceiveSize)
                    .with(RECEIVE_DEPTH, c -> c.receiveDepth, RdmaChannelConfig::setReceiveDepth)
                    .with(SEND_DEPTH, c -> c.sendDepth, RdmaChannelConfig::setSendDepth)
                    .with(MAX_SEND_SIZE, c -> c.getMaxSendSize(), RdmaChannelConfig::setMaxSendSize)
                    .with(PRIVATE_DATA, c -> c.getPrivateData(), RdmaChannelConfig::setPrivateData)
                    .with(
                            PEER_PRIVATE_DATA,
                            c -> c.getPeerPrivateData(),
                            RdmaChannelConfig::setPeerPrivateData)
                    .with(READ_DEPTH, c -> c.readDepth, RdmaChannelConfig::setReadDepth)
                    .with(
                            READ_TIMEOUT_MILLIS,
                            c -> c.readTimeoutMillis,
                            RdmaChannelConfig::setReadTimeoutMillis)
                    .with(
                            INCOMPLETE_BYTES_PER_ADDRESS,
                            c -> c.incompleteBytesPerAddress,
                            RdmaChannelConfig::setIncompleteBytesPerAddress)
                    .with(DRAIN_MILLIS, c -> c.drainMillis, RdmaChannelConfig::setDrainMillis)
                    .with(SO_KEEPALIVE, c -> c.keepAlive, RdmaChannelConfig::setKeepAlive)
                    .with(
                            KEEP_ALIVE_SECONDS,
                            c -> c.keepAliveSeconds,
                            RdmaChannelConfig::setKeepAliveSeconds)
                    .with(
                            REGISTRATION,
                            c -> c.registrationPolicy,
                            RdmaChannelConfig::setRegistrationPolicy);

    private volatile int receiveSize = 4096;
    private volatile int receiveDepth = 80;
    private volatile int sendDepth = 256;
    private volatile int maxSendSize = AS_RECEIVED;
    private volatile int readDepth = MOST_READS;
    private volatile int readTimeoutMillis = 30_000;
    private volatile long incompleteBytesPerAddress =
            Math.max(1, RdmaChannel.registeredBytesLimit() / 2);
    private volatile int drainMillis = 2000;
    private volatile boolean keepAlive = true;
    private volatile int keepAliveSeconds = 60;
    private volatile byte[] privateData = NO_DATA;
    private volatile byte[] peerPrivateData = NO_DATA;
    private volatile RegistrationPolicy registrationPolicy = RegistrationPolicy.EXACT;
    private volatile int highWaterMark = getWriteBufferHighWaterMark();

    RdmaChannelConfig(RdmaChannel channel) {
        super(channel, new MessagesPerReadAllocator()); // the peer decides the length of messages
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

    private void checkConfigurable(ChannelOption<?> option) {
        ((RdmaChannel) channel).checkConfigurable(option);
    }

    /** {@return the size of each receive in bytes} */
    public int getReceiveSize() {
        return receiveSize;
    }

    /**
     * Sets {@link RdmaChannelOption#RECEIVE_SIZE}.
     *
     * @param bytes 1024 to 2^20
     * @return this configuration
     */
    public RdmaChannelConfig setReceiveSize(int bytes) {
        checkConfigurable(RECEIVE_SIZE);
        receiveSize = checkInRange(bytes, LEAST_RECEIVE_SIZE, 1 << 20, "RECEIVE_SIZE");
        return this;
    }

    /** {@return the number of receives kept posted} */
    public int getReceiveDepth() {
        return receiveDepth;
    }

    /**
     * Sets {@link RdmaChannelOption#RECEIVE_DEPTH}.
     *
     * @param receives 1 to 2^16
     * @return this configuration
     */
    public RdmaChannelConfig setReceiveDepth(int receives) {
        checkConfigurable(RECEIVE_DEPTH);
        receiveDepth = checkInRange(receives, 1, 1 << 16, "RECEIVE_DEPTH");
        return this;
    }

    /** {@return the most work requests posted and not complete} */
    public int getSendDepth() {
        return sendDepth;
    }

    /**
     * Sets {@link RdmaChannelOption#SEND_DEPTH}.
     *
     * @param workRequests 1 to 2^16
     * @return this configuration
     */
    public RdmaChannelConfig setSendDepth(int workRequests) {
        checkConfigurable(SEND_DEPTH);
        sendDepth = checkInRange(workRequests, 1, 1 << 16, "SEND_DEPTH");
        return this;
    }

    /** {@return the longest Send in bytes} */
    public int getMaxSendSize() {
        return maxSendSize == AS_RECEIVED ? receiveSize : maxSendSize;
    }

    /**
     * Sets {@link RdmaChannelOption#MAX_SEND_SIZE}.
     *
     * @param bytes from 1
     * @return this configuration
     */
    public RdmaChannelConfig setMaxSendSize(int bytes) {
        maxSendSize = checkPositive(bytes, "MAX_SEND_SIZE");
        return this;
    }

    /** {@return the most RDMA Reads outstanding in each direction} */
    public int getReadDepth() {
        return readDepth;
    }

    /**
     * Sets {@link RdmaChannelOption#READ_DEPTH}.
     *
     * @param reads 1 to 128
     * @return this configuration
     */
    public RdmaChannelConfig setReadDepth(int reads) {
        checkConfigurable(READ_DEPTH);
        readDepth = checkInRange(reads, 1, MOST_READS, "READ_DEPTH");
        return this;
    }

    /** {@return the time-out of an RDMA Read without progress, in milliseconds; 0 for none} */
    public int getReadTimeoutMillis() {
        return readTimeoutMillis;
    }

    /**
     * Sets {@link RdmaChannelOption#READ_TIMEOUT_MILLIS}.
     *
     * @param millis from 0
     * @return this configuration
     */
    public RdmaChannelConfig setReadTimeoutMillis(int millis) {
        readTimeoutMillis = checkPositiveOrZero(millis, "READ_TIMEOUT_MILLIS");
        return this;
    }

    /** {@return the most bytes for data that peers of one address have announced but not delivered} */
    public long getIncompleteBytesPerAddress() {
        return incompleteBytesPerAddress;
    }

    /**
     * Sets {@link RdmaChannelOption#INCOMPLETE_BYTES_PER_ADDRESS}.
     *
     * @param bytes from 1
     * @return this configuration
     */
    public RdmaChannelConfig setIncompleteBytesPerAddress(long bytes) {
        incompleteBytesPerAddress = checkPositive(bytes, "INCOMPLETE_BYTES_PER_ADDRESS");
        return this;
    }

    /** {@return the connection private data to send} */
    public byte[] getPrivateData() {
        return privateData.clone();
    }

    /**
     * Sets {@link RdmaChannelOption#PRIVATE_DATA}.
     *
     * @param data at most as long as the device can carry; copied
     * @return this configuration
     */
    public RdmaChannelConfig setPrivateData(byte[] data) {
        checkConfigurable(PRIVATE_DATA);
        privateData = data.clone();
        return this;
    }

    /** {@return the private data assumed of the peer if the device carries none} */
    public byte[] getPeerPrivateData() {
        return peerPrivateData.clone();
    }

    /**
     * Sets {@link RdmaChannelOption#PEER_PRIVATE_DATA}.
     *
     * @param data assumed private data; copied
     * @return this configuration
     */
    public RdmaChannelConfig setPeerPrivateData(byte[] data) {
        checkConfigurable(PEER_PRIVATE_DATA);
        peerPrivateData = data.clone();
        return this;
    }

    /** {@return how long a closing channel waits for posted work, in milliseconds} */
    public int getDrainMillis() {
        return drainMillis;
    }

    /**
     * Sets {@link RdmaChannelOption#DRAIN_MILLIS}.
     *
     * @param millis from 0
     * @return this configuration
     */
    public RdmaChannelConfig setDrainMillis(int millis) {
        drainMillis = checkPositiveOrZero(millis, "DRAIN_MILLIS");
        return this;
    }

    /** {@return whether keep-alive is on: an idle channel checks for its peer} */
    public boolean isKeepAlive() {
        return keepAlive;
    }

    /**
     * Sets {@link io.netty.channel.ChannelOption#SO_KEEPALIVE}.
     *
     * @param looks whether an idle channel checks for its peer; fixed once the channel connects
     * @return this configuration
     */
    public RdmaChannelConfig setKeepAlive(boolean looks) {
        keepAlive = looks;
        return this;
    }

    /** {@return the seconds without traffic after which the channel checks for its peer} */
    public int getKeepAliveSeconds() {
        return keepAliveSeconds;
    }

    /**
     * Sets {@link RdmaChannelOption#KEEP_ALIVE_SECONDS}.
     *
     * @param seconds 1 to 32767; fixed once the channel connects
     * @return this configuration
     */
    public RdmaChannelConfig setKeepAliveSeconds(int seconds) {
        keepAliveSeconds = checkInRange(seconds, 1, MOST_KEEP_ALIVE_SECONDS, "KEEP_ALIVE_SECONDS");
        return this;
    }

    /** {@return the granularity of handles and registrations} */
    public RegistrationPolicy getRegistrationPolicy() {
        return registrationPolicy;
    }

    /**
     * Sets {@link RdmaChannelOption#REGISTRATION}.
     *
     * @param policy granularity of handles and registrations
     * @return this configuration
     */
    public RdmaChannelConfig setRegistrationPolicy(RegistrationPolicy policy) {
        registrationPolicy = checkNotNull(policy, "REGISTRATION");
        return this;
    }

    /** {@link #getWriteBufferHighWaterMark}, without the way to it. */
    int highWaterMark() {
        return highWaterMark;
    }

    QueuePairConfig queuePairConfig() {
        return new QueuePairConfig(sendDepth, receiveDepth, readDepth, readDepth);
    }

    // ------------------------------------------------------------------ setters of Netty

    @Override
    public RdmaChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public RdmaChannelConfig setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        return this;
    }

    @Override
    public RdmaChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public RdmaChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public RdmaChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public RdmaChannelConfig setWriteBufferHighWaterMark(int bytes) {
        super.setWriteBufferHighWaterMark(bytes);
        highWaterMark = bytes;
        return this;
    }

    @Override
    public RdmaChannelConfig setWriteBufferLowWaterMark(int bytes) {
        super.setWriteBufferLowWaterMark(bytes);
        return this;
    }

    @Override
    public RdmaChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark mark) {
        super.setWriteBufferWaterMark(mark);
        highWaterMark = mark.high();
        return this;
    }

    @Override
    public RdmaChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    /** Sizes and depths, with only the length of the private data. Any thread. */
    @Override
    public String toString() {
        return String.format(
                "RdmaChannelConfig(%d receives of %d bytes, %d sends of up to %d bytes, %d Reads,"
                        + " %s, %d bytes of private data, drains for %d ms, SO_KEEPALIVE %s)",
                receiveDepth,
                receiveSize,
                sendDepth,
                getMaxSendSize(),
                readDepth,
                registrationPolicy,
                privateData.length,
                drainMillis,
                keepAlive ? keepAliveSeconds + " s" : "off");
    }
}
