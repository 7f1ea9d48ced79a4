// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.RecvByteBufAllocator;

/**
 * Base class of the configurations: takes options that bootstraps written for sockets set and that have no effect over
 * RDMA, and the idle time of TCP's keep-alive as {@link RdmaChannelOption#KEEP_ALIVE_SECONDS}.
 */
abstract class AbstractRdmaChannelConfig extends DefaultChannelConfig {

    /** What JDK and native transports call it, the latter behind the name of a class. */
    private static final String TCP_KEEPIDLE = "TCP_KEEPIDLE";

    private final IgnoredSocketOptions ignored = new IgnoredSocketOptions();

    AbstractRdmaChannelConfig(Channel channel) {
        super(channel);
    }

    AbstractRdmaChannelConfig(Channel channel, RecvByteBufAllocator allocator) {
        super(channel, allocator);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        if (isKeepAliveIdle(option)) {
            return (T) getOption(RdmaChannelOption.KEEP_ALIVE_SECONDS);
        }
        T value = super.getOption(option);
        return value == null ? ignored.get(option) : value;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (isKeepAliveIdle(option)) {
            return setOption(RdmaChannelOption.KEEP_ALIVE_SECONDS, (Integer) value);
        }
        if (!super.setOption(option, value)) {
            ignored.set(option, value);
        }
        return true;
    }

    private static boolean isKeepAliveIdle(ChannelOption<?> option) {
        return option.name().endsWith(TCP_KEEPIDLE);
    }

    @Override
    protected void autoReadCleared() {
        ((AbstractRdmaChannel) channel).clearReadPending();
    }
}
