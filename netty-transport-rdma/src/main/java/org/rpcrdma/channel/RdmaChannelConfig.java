// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;
import static io.netty.util.internal.ObjectUtil.checkPositive;
import static io.netty.util.internal.ObjectUtil.checkPositiveOrZero;
import static org.rpcrdma.channel.RdmaChannelOption.DRAIN_MILLIS;
import static org.rpcrdma.channel.RdmaChannelOption.MAX_SEND_SIZE;
import static org.rpcrdma.channel.RdmaChannelOption.PEER_PRIVATE_DATA;
import static org.rpcrdma.channel.RdmaChannelOption.PRIVATE_DATA;
import static org.rpcrdma.channel.RdmaChannelOption.READ_DEPTH;
import static org.rpcrdma.channel.RdmaChannelOption.RECEIVE_DEPTH;
import static org.rpcrdma.channel.RdmaChannelOption.RECEIVE_SIZE;
import static org.rpcrdma.channel.RdmaChannelOption.REGISTRATION;
import static org.rpcrdma.channel.RdmaChannelOption.SEND_DEPTH;

import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import java.util.Map;
import org.rpcrdma.verbs.QueuePairConfig;

/** The configuration of a {@link RdmaChannel}: see {@link RdmaChannelOption} for units, defaults and limits. */
public final class RdmaChannelConfig extends DefaultChannelConfig {

    /** What every receiver has to take at least (RFC 8166, 3.3.3). */
    private static final int LEAST_RECEIVE_SIZE = 1024;

    private static final int MOST_READS = 128;

    private static final byte[] NO_DATA = {};

    private volatile int receiveSize = 4096;
    private volatile int receiveDepth = 80;
    private volatile int sendDepth = 256;
    private volatile int maxSendSize = Integer.MAX_VALUE;
    private volatile int readDepth = MOST_READS;
    private volatile int drainMillis = 2000;
    private volatile byte[] privateData = NO_DATA;
    private volatile byte[] peerPrivateData = NO_DATA;
    private volatile RegistrationPolicy registrationPolicy = RegistrationPolicy.EXACT;

    RdmaChannelConfig(RdmaChannel channel) {
        super(channel);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(
                super.getOptions(),
                RECEIVE_SIZE,
                RECEIVE_DEPTH,
                SEND_DEPTH,
                MAX_SEND_SIZE,
                PRIVATE_DATA,
                PEER_PRIVATE_DATA,
                READ_DEPTH,
                DRAIN_MILLIS,
                REGISTRATION);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        if (option == RECEIVE_SIZE) {
            return (T) (Integer) receiveSize;
        }
        if (option == RECEIVE_DEPTH) {
            return (T) (Integer) receiveDepth;
        }
        if (option == SEND_DEPTH) {
            return (T) (Integer) sendDepth;
        }
        if (option == MAX_SEND_SIZE) {
            return (T) (Integer) maxSendSize;
        }
        if (option == PRIVATE_DATA) {
            return (T) getPrivateData();
        }
        if (option == PEER_PRIVATE_DATA) {
            return (T) getPeerPrivateData();
        }
        if (option == READ_DEPTH) {
            return (T) (Integer) readDepth;
        }
        if (option == DRAIN_MILLIS) {
            return (T) (Integer) drainMillis;
        }
        if (option == REGISTRATION) {
            return (T) registrationPolicy;
        }
        return super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == RECEIVE_SIZE) {
            receiveSize =
                    checkInRange(
                            (Integer) fixedOnceConnected(option, value),
                            LEAST_RECEIVE_SIZE,
                            1 << 20,
                            "RECEIVE_SIZE");
        } else if (option == RECEIVE_DEPTH) {
            receiveDepth =
                    checkInRange(
                            (Integer) fixedOnceConnected(option, value),
                            1,
                            1 << 16,
                            "RECEIVE_DEPTH");
        } else if (option == SEND_DEPTH) {
            sendDepth =
                    checkInRange(
                            (Integer) fixedOnceConnected(option, value), 1, 1 << 16, "SEND_DEPTH");
        } else if (option == MAX_SEND_SIZE) {
            maxSendSize = checkPositive((Integer) value, "MAX_SEND_SIZE");
        } else if (option == PRIVATE_DATA) {
            privateData = ((byte[]) fixedOnceConnected(option, value)).clone();
        } else if (option == PEER_PRIVATE_DATA) {
            peerPrivateData = ((byte[]) fixedOnceConnected(option, value)).clone();
        } else if (option == READ_DEPTH) {
            readDepth =
                    checkInRange(
                            (Integer) fixedOnceConnected(option, value),
                            1,
                            MOST_READS,
                            "READ_DEPTH");
        } else if (option == DRAIN_MILLIS) {
            drainMillis = checkPositiveOrZero((Integer) value, "DRAIN_MILLIS");
        } else if (option == REGISTRATION) {
            registrationPolicy = (RegistrationPolicy) value;
        } else {
            return super.setOption(option, value);
        }
        return true;
    }

    private Object fixedOnceConnected(ChannelOption<?> option, Object value) {
        if (channel.isActive()) {
            throw new IllegalStateException(
                    "option " + option + " is fixed once the channel is connected");
        }
        return value;
    }

    @Override
    protected void autoReadCleared() {
        ((RdmaChannel) channel).clearReadPending();
    }

    /** The number of receives kept posted. */
    public int getReceiveDepth() {
        return receiveDepth;
    }

    /** The size of each receive in bytes. */
    public int getReceiveSize() {
        return receiveSize;
    }

    /** The longest Send in bytes. */
    public int getMaxSendSize() {
        return maxSendSize;
    }

    /** The most work requests posted and not complete. */
    public int getSendDepth() {
        return sendDepth;
    }

    /** What is sent as connection private data. */
    public byte[] getPrivateData() {
        return privateData.clone();
    }

    /** What a peer is taken to have sent where the device carries no connection private data. */
    public byte[] getPeerPrivateData() {
        return peerPrivateData.clone();
    }

    /** How long a closing channel waits for posted work, in milliseconds. */
    public int getDrainMillis() {
        return drainMillis;
    }

    /** What handles stand for. */
    public RegistrationPolicy getRegistrationPolicy() {
        return registrationPolicy;
    }

    QueuePairConfig queuePairConfig() {
        return new QueuePairConfig(sendDepth, receiveDepth, readDepth, readDepth);
    }
}
