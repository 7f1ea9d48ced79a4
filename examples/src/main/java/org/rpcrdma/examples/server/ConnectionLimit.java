// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets in who may connect over TCP, and bounds the connections, of one address and of all, and so the memory for
 * records that are begun and replies that are not taken. One for all servers; thread-safe.
 */
@Sharable
final class ConnectionLimit extends ChannelInboundHandlerAdapter {

    private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

    private final Admission admission;
    private final Map<InetAddress, Integer> open = new HashMap<>();
    private int total;

    ConnectionLimit(Admission admission) {
        this.admission = admission;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        InetAddress address = addressOf(ctx.channel());
        if (!admission.allows(address)) {
            LOG.info("{} is closed: its address is not allowed", ctx.channel());
            ctx.close();
            return;
        }
        if (!admit(address)) {
            LOG.info("{} is closed: there are too many connections", ctx.channel());
            ctx.close();
            return;
        }
        ctx.channel().closeFuture().addListener(closed -> release(address));
        ctx.fireChannelActive();
    }

    private synchronized boolean admit(InetAddress address) {
        int count = open.getOrDefault(address, 0);
        if (count >= admission.ofAddress() || total >= admission.ofAll()) {
            return false;
        }
        open.put(address, count + 1);
        total++;
        return true;
    }

    private synchronized void release(InetAddress address) {
        open.computeIfPresent(address, (key, count) -> count == 1 ? null : count - 1);
        total--;
    }

    private static InetAddress addressOf(Channel channel) {
        return ((InetSocketAddress) channel.remoteAddress()).getAddress();
    }
}
