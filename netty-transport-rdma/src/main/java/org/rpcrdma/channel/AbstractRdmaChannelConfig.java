// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkInRange;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.RecvByteBufAllocator;

/**
 * Base class of the configurations: accepts socket options that have no effect over RDMA, so that bootstraps written
 * for sockets work, and maps the idle time of TCP's keep-alive to {@link RdmaChannelOption#KEEP_ALIVE_SECONDS}.
 */
abstract class AbstractRdmaChannelConfig extends DefaultChannelConfig {

    /** The maximum of TCP. */
    static final int MOST_KEEP_ALIVE_SECONDS = 32767;

    /** Name of the option in JDK and native transports; the latter prepend a class name. */
    private static final String TCP_KEEPIDLE = "TCP_KEEPIDLE";

    /** {@code IP_TOS}, 0 to 255; -1 while nobody has set it. */
    private volatile int trafficClass = -1;

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
        if (option == ChannelOption.IP_TOS) {
            return (T) (Integer) Math.max(0, trafficClass);
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
        if (option == ChannelOption.IP_TOS) {
            trafficClass = checkInRange((Integer) value, 0, 255, "IP_TOS");
            ((AbstractRdmaChannel) channel).trafficClassChanged();
            return true;
        }
        if (!super.setOption(option, value)) {
            ignored.set(option, value);
        }
        return true;
    }

    /** {@code IP_TOS}, or -1 while nobody has set it. Any thread. */
    int trafficClass() {
        return trafficClass;
    }

    private static boolean isKeepAliveIdle(ChannelOption<?> option) {
        return option.name().endsWith(TCP_KEEPIDLE);
    }

    @Override
    protected void autoReadCleared() {
        ((AbstractRdmaChannel) channel).clearReadPending();
    }
}
