// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;

/** Told by an {@link EventLoopDevicePoller} of the channels that come and go. Event loop only. */
interface ChannelRegistrar {

    /**
     * @throws Exception when the event loop does not take the channel, which is not registered then
     */
    void register(Channel channel) throws Exception;

    /** Called once for each registered channel that leaves the event loop. */
    default void deregister(Channel channel) {}
}
