// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.channel.ChannelOption.SO_BACKLOG;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import java.util.Map;

/** The configuration of a {@link RdmaServerChannel}; its children have a {@link RdmaChannelConfig}. */
public final class RdmaServerChannelConfig extends DefaultChannelConfig {

    private volatile int backlog = 128;

    RdmaServerChannelConfig(RdmaServerChannel channel) {
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
        backlog = checkPositive((Integer) value, "backlog");
        return true;
    }

    /** The most connection requests that wait to be accepted; further ones are refused. */
    public int getBacklog() {
        return backlog;
    }
}
