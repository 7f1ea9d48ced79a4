// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets in who may connect over TCP, and bounds the connections, of one address and of all, and so the memory for
 * records that are begun and replies that are not taken. Where there is no room for one more, the connection that has
 * been idle for longest makes it. One for all servers; thread-safe.
 */
@Sharable
final class ConnectionLimit extends ChannelInboundHandlerAdapter {

    /** A connection may be closed after so long without a call that has come, or a reply that was taken. */
    static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

    private record Use(InetAddress address, long nanos) {}

    private final Admission admission;
    private final LongSupplier nanoTime;

    /** Those that were not used for longest come first. */
    private final Map<Channel, Use> open = new LinkedHashMap<>(16, 0.75f, true);

    ConnectionLimit(Admission admission, LongSupplier nanoTime) {
        this.admission = admission;
        this.nanoTime = nanoTime;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        InetAddress address = ((InetSocketAddress) ctx.channel().remoteAddress()).getAddress();
        if (!admission.allows(address)) {
            close(ctx.channel(), "its address is not allowed");
        } else if (!admit(ctx.channel(), address)) {
            close(ctx.channel(), "there are too many connections");
        } else {
            ctx.channel().closeFuture().addListener(closed -> release(ctx.channel()));
            ctx.fireChannelActive();
        }
    }

    private static void close(Channel channel, String why) {
        LOG.info("{} is closed: {}", channel, why);
        channel.close();
    }

    private synchronized boolean admit(Channel channel, InetAddress address) {
        long count = open.values().stream().filter(use -> use.address.equals(address)).count();
        boolean isFullOfAddress = count >= admission.ofAddress();
        if (isFullOfAddress || open.size() >= admission.ofAll()) {
            Channel idle = longestIdle(isFullOfAddress ? address : null);
            if (idle == null) {
                return false;
            }
            open.remove(idle);
            close(idle, "it is idle, and others have no room");
        }
        open.put(channel, new Use(address, nanoTime.getAsLong()));
        return true;
    }

    /** {@code null} if there is none, of an address or of any. */
    private Channel longestIdle(InetAddress ofAddress) {
        long now = nanoTime.getAsLong();
        return open.entrySet().stream()
                .filter(each -> ofAddress == null || each.getValue().address.equals(ofAddress))
                .filter(each -> now - each.getValue().nanos >= IDLE_NANOS)
                .map(Map.Entry::getKey)
                .findFirst()
                .orElse(null);
    }

    /** A call has come whole, or its reply was taken; half a record counts for nothing. */
    synchronized void used(Channel channel) {
        open.computeIfPresent(channel, (key, use) -> new Use(use.address, nanoTime.getAsLong()));
    }

    private synchronized void release(Channel channel) {
        open.remove(channel);
    }
}
