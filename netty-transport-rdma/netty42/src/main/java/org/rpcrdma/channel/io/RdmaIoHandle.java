// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import io.netty.channel.Channel;
import io.netty.channel.IoEvent;
import io.netty.channel.IoHandle;
import io.netty.channel.IoRegistration;

/** An RDMA channel, as its event loop counts it. Its events come from the device and not from here. */
final class RdmaIoHandle implements IoHandle {

    private final Channel channel;

    RdmaIoHandle(Channel channel) {
        this.channel = channel;
    }

    @Override
    public void handle(IoRegistration registration, IoEvent event) {
        throw new UnsupportedOperationException("an RDMA channel has no I/O events: " + event);
    }

    @Override
    public void close() {
        channel.unsafe().close(channel.unsafe().voidPromise());
    }

    @Override
    public String toString() {
        return "RdmaIoHandle(" + channel + ')';
    }
}
