// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/** A listening responder whose every connection does what the test says. */
final class ScriptedResponder implements AutoCloseable {

    /** What happens to a call. Event loop; the call is released afterwards. */
    @FunctionalInterface
    interface Script {
        void received(RdmaChannel channel, int connection, ByteBuf call) throws Exception;

        /** Whether the connection is without the codec: calls are whole Sends then. */
        default boolean isRaw(int connection) {
            return false;
        }

        default void accepted(RdmaChannel channel, int connection) {}

        /** The channel is not connected yet: its options may be changed. */
        default void initialized(RdmaChannel channel, int connection) {}
    }

    /** A call that has arrived. */
    static final class Call {
        private final RdmaChannel channel;
        private final int connection;
        private final int xid;
        private final byte[] bytes;

        Call(RdmaChannel channel, int connection, int xid, byte[] bytes) {
            this.channel = channel;
            this.connection = connection;
            this.xid = xid;
            this.bytes = bytes;
        }

        int connection() {
            return connection;
        }

        int xid() {
            return xid;
        }

        byte[] bytes() {
            return bytes.clone();
        }

        void reply(ByteBuf message) {
            channel.writeAndFlush(message.setInt(message.readerIndex(), xid));
        }
    }

    final BlockingQueue<Call> calls = new LinkedBlockingQueue<>();
    final List<RdmaChannel> accepted = new CopyOnWriteArrayList<>();
    final RpcRdmaMetrics metrics;
    final List<Throwable> errors = new CopyOnWriteArrayList<>();
    final RdmaEventLoopGroup group;
    private final Channel listener;

    ScriptedResponder(RpcRdmaConfig config, Script script) throws Exception {
        this(config, script, 1);
    }

    /** Counts its connections there. */
    ScriptedResponder(RpcRdmaConfig config, RpcRdmaMetrics metrics, Script script)
            throws Exception {
        this(config, metrics, script, 1);
    }

    /** With several event loops each connection has another one than the connection before it. */
    ScriptedResponder(RpcRdmaConfig config, Script script, int loops) throws Exception {
        this(config, new RpcRdmaMetrics(), script, loops);
    }

    private ScriptedResponder(
            RpcRdmaConfig config, RpcRdmaMetrics metrics, Script script, int loops)
            throws Exception {
        this.metrics = metrics;
        group = new RdmaEventLoopGroup(loops);
        ServerBootstrap bootstrap =
                new ServerBootstrap().group(group).channel(RdmaServerChannel.class);
        config.applyTo(bootstrap)
                .childHandler(
                        new ChannelInitializer<RdmaChannel>() {
                            @Override
                            protected void initChannel(RdmaChannel channel) {
                                int number = accepted.size();
                                accepted.add(channel);
                                script.initialized(channel, number);
                                if (!script.isRaw(number)) {
                                    channel.pipeline().addLast(new RpcRdmaCodec(config, metrics));
                                }
                                channel.pipeline().addLast(new Runner(script, number));
                            }
                        });
        listener = bootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    }

    /** Takes the calls for the test to answer. */
    static ScriptedResponder manual(RpcRdmaConfig config) throws Exception {
        return new ScriptedResponder(config, (channel, connection, call) -> {});
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    Call take() throws InterruptedException {
        Call call = calls.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (call == null) {
            throw new AssertionError("no call arrived; errors: " + errors);
        }
        return call;
    }

    void stopListening() {
        listener.close().syncUninterruptibly();
    }

    @Override
    public void close() {
        stopListening();
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    private final class Runner extends ChannelInboundHandlerAdapter {
        private final Script script;
        private final int connection;

        Runner(Script script, int connection) {
            this.script = script;
            this.connection = connection;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            script.accepted((RdmaChannel) ctx.channel(), connection);
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
            try {
                ByteBuf call = (ByteBuf) message;
                RdmaChannel channel = (RdmaChannel) ctx.channel();
                calls.add(
                        new Call(
                                channel,
                                connection,
                                Rpc.xid(call),
                                Rpc.bytes(call.retainedDuplicate())));
                script.received(channel, connection, call);
            } finally {
                ReferenceCountUtil.release(message);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }
    }
}
