// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.OptionalOperationMessage;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;

/** A connection with the codec alone: NULL calls, and optional operations when both ends speak version 2. */
final class OptionCaller {

    static final AttributeKey<OptionCaller> KEY = AttributeKey.valueOf("org.rpcrdma.simulation");

    private final SimulatedWorld world;
    private final SimulatedHost host;
    private final SocketAddress address;
    private final RpcRdmaConfig config;
    private final Map<Integer, Channel> outstanding = new LinkedHashMap<>();
    private final List<Channel> channels = new ArrayList<>();
    private Channel channel;
    private boolean isSettled;
    private int nextXid = 1;

    OptionCaller(
            SimulatedWorld world, SimulatedHost host, SocketAddress address, RpcRdmaConfig config) {
        this.world = world;
        this.host = host;
        this.address = address;
        this.config = config;
    }

    /** Calls the operation when the version is settled; before, a NULL call settles it. */
    void call() {
        if (channel == null || !channel.isOpen()) {
            connect();
            return;
        }
        channel.eventLoop()
                .execute(
                        () -> {
                            if (channel.isActive()) {
                                callNow();
                            }
                        });
    }

    private void callNow() {
        int xid = nextXid++;
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        Object message =
                isSettled && connection.version() == 2
                        ? OptionalOperationMessage.call(
                                xid,
                                SimulationSettings.OPTION,
                                ByteBuffer.allocate(4).putInt(xid).array())
                        : SimulatedProgram.call(SimulatedProgram.UNBOUND, 0).setInt(0, xid);
        outstanding.put(xid, channel);
        world.network.note(message.getClass() + " with XID " + xid);
        Channel by = channel;
        by.writeAndFlush(message)
                .addListener(
                        done -> {
                            if (!done.isSuccess() && outstanding.remove(xid, by)) {
                                world.network.note(
                                        "XID " + xid + " fails: " + done.cause().getClass());
                                if (!world.plan.hasLosses()) {
                                    world.wrong("an operation fails: " + done.cause());
                                }
                            }
                        });
    }

    private void connect() {
        isSettled = false;
        Bootstrap bootstrap = new Bootstrap().group(host.group).channel(RdmaChannel.class);
        ChannelFuture connected =
                config.applyTo(bootstrap)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        made.attr(KEY).set(OptionCaller.this);
                                        made.pipeline()
                                                .addLast(new RpcRdmaCodec(config), new Replies());
                                    }
                                })
                        .connect(address);
        channel = connected.channel();
        channels.add(channel);
    }

    void answered(OptionalOperationMessage reply) {
        if (ByteBuffer.wrap(reply.information()).getInt() != reply.xid()) {
            world.wrong("an operation is answered with other information");
        }
        ended(reply.xid());
    }

    private void ended(int xid) {
        if (outstanding.remove(xid) == null) {
            world.wrong("XID " + xid + " is answered twice, or was not called");
        }
    }

    boolean isIdle() {
        outstanding.values().removeIf(by -> !by.isOpen());
        return outstanding.isEmpty();
    }

    void close() {
        channels.forEach(Channel::close);
    }

    private final class Replies extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof ByteBuf reply) {
                isSettled |= ctx.channel() == channel;
                int xid = reply.getInt(reply.readerIndex());
                reply.release();
                ended(xid);
            } else {
                world.network.note("the codec says " + message.getClass());
                ReferenceCountUtil.release(message);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note("an operation's channel is told of " + cause);
        }
    }
}
