// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.platforms;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.Version;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.PlatformDependent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;

/**
 * A program that {@link PlatformMatrix} starts in JVMs of several kinds: channel, codec and stream take memory in
 * growing sizes, many times what there is, and give all of it back. Needs neither JUnit nor anything else but the
 * libraries and Netty.
 */
public final class PlatformCheck {

    /** What it prints last, behind a description of the platform. */
    static final String PASSED = "passed on";

    private static final long PATIENCE_SECONDS = 60;
    private static final int MIB = 1 << 20;
    private static final int ROUNDS = 2;

    /** A third of what one of these has is the most that {@code -XX:MaxDirectMemorySize=160m} leaves for one buffer. */
    private static final int LARGEST_CALL = 24;

    private static final int SHORT_CALL = 100;
    private static final int SHORT_CALLS = 200;
    private static final int STREAM_BYTES = 4 * MIB;

    private final RdmaEventLoopGroup group;

    private PlatformCheck(RdmaEventLoopGroup group) {
        this.group = group;
    }

    /**
     * Runs the check, once over TCP with the CRC and once over shared memory.
     *
     * @param arguments whether Netty has {@code sun.misc.Unsafe}: {@code true} or {@code false}
     */
    public static void main(String[] arguments) throws Exception {
        boolean hasUnsafe = PlatformDependent.hasUnsafe();
        require(hasUnsafe == Boolean.parseBoolean(arguments[0]), "Unsafe: " + hasUnsafe);
        run(IwarpConfig.builder().crc(CrcPolicy.REQUIRE).sharedMemory(false).build());
        run(IwarpConfig.builder().sharedMemory(true).build());
        System.out.println(
                PASSED
                        + " Java "
                        + Runtime.version().feature()
                        + ", Netty "
                        + Version.identify().get("netty-common").artifactVersion()
                        + (hasUnsafe ? " with" : " without")
                        + " Unsafe, "
                        + PlatformCheck.class.getModule());
    }

    private static void run(IwarpConfig config) throws Exception {
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(2, new IwarpProvider(config), PollMode.ADAPTIVE);
        try {
            PlatformCheck check = new PlatformCheck(group);
            check.channel();
            check.codec();
            check.stream();
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
        long left = RdmaChannel.registeredBytes();
        require(left == 0, left + " bytes are left when the group has ended");
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static <T> T on(Channel channel, Callable<T> action) throws Exception {
        return channel.eventLoop().submit(action).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static ChannelHandler initializer(Supplier<ChannelHandler[]> handlers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(handlers.get());
            }
        };
    }

    // ------------------------------------------------------------------ channel

    /** Twice as much each time, up to half of the limit. */
    private void channel() throws Exception {
        RdmaChannel channel = new RdmaChannel();
        group.register(channel).sync();
        for (int round = 0; round < ROUNDS; round++) {
            for (int size = 1000; size <= RdmaChannel.registeredBytesLimit() / 2; size *= 2) {
                int capacity = size;
                on(channel, () -> useAndRelease(channel.registeredBuffer(capacity)));
            }
        }
        require(on(channel, channel::registeredBytesInUse) == 0, "a channel holds memory");
        channel.close().sync();
    }

    private static boolean useAndRelease(ByteBuf buffer) {
        buffer.setLong(0, 1).setLong(buffer.capacity() - Long.BYTES, 2);
        require(buffer.getLong(0) == 1, "a buffer does not hold what is written");
        return buffer.release();
    }

    // ------------------------------------------------------------------ codec

    /** Answers with the first and the last word of the arguments. */
    private static final class Summing extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
            CallHeader header = CallHeader.read(call);
            ByteBuf reply = ctx.alloc().buffer();
            ReplyHeader.of(header.xid(), ReplyHeader.Status.SUCCESS).writeTo(reply);
            reply.writeInt(call.getInt(call.readerIndex()));
            ctx.writeAndFlush(reply.writeInt(call.getInt(call.writerIndex() - Integer.BYTES)));
        }
    }

    private void codec() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        ServerBootstrap server =
                new ServerBootstrap().group(group).channel(RdmaServerChannel.class);
        Channel listener =
                config.applyTo(server)
                        .childHandler(
                                initializer(
                                        () ->
                                                new ChannelHandler[] {
                                                    new RpcRdmaCodec(config), new Summing()
                                                }))
                        .bind(anyPort())
                        .sync()
                        .channel();
        RpcRdmaClient client =
                RpcRdmaClient.builder(group, (InetSocketAddress) listener.localAddress())
                        .config(config)
                        .build();
        for (int round = 0; round < ROUNDS; round++) {
            for (int mib = 4; mib <= LARGEST_CALL; mib += 4) {
                call(client, mib * MIB);
            }
        }
        shortCalls(client);
        client.closeAsync().sync();
        listener.close().sync();
    }

    /** Their buffers are parts of memory that is registered already. */
    private void shortCalls(RpcRdmaClient client) throws Exception {
        call(client, SHORT_CALL);
        long before = group.value(RdmaCounter.REGISTRATIONS);
        for (int i = 0; i < SHORT_CALLS; i++) {
            call(client, SHORT_CALL);
        }
        long made = group.value(RdmaCounter.REGISTRATIONS) - before;
        require(made < SHORT_CALLS, made + " registrations for " + SHORT_CALLS + " short calls");
    }

    private static void call(RpcRdmaClient client, int length) throws Exception {
        ByteBuf call = Unpooled.buffer(100 + length);
        CallHeader.of(0x20000001, 1, 1, OpaqueAuth.NONE).writeTo(call);
        call.writeInt(7).writeZero(length - 2 * Integer.BYTES).writeInt(length);
        ByteBuf reply = client.call(call).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        ReplyHeader.read(reply);
        require(reply.readInt() == 7 && reply.readInt() == length, "a call got a wrong answer");
        reply.release();
    }

    // ------------------------------------------------------------------ stream

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ctx.write(message);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    /** Waits for as many bytes as were sent, each as it was sent. */
    private static final class Echoed extends SimpleChannelInboundHandler<ByteBuf> {
        private final Promise<Void> all;
        private int count;

        Echoed(Promise<Void> all) {
            this.all = all;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf bytes) {
            while (bytes.isReadable()) {
                require(bytes.readByte() == (byte) (count++ * 31), "a stream has changed a byte");
            }
            if (count == STREAM_BYTES) {
                all.setSuccess(null);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            all.tryFailure(cause);
        }
    }

    private void stream() throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(initializer(() -> new ChannelHandler[] {new Echo()}))
                        .bind(anyPort())
                        .sync()
                        .channel();
        Promise<Void> all = group.next().newPromise();
        Channel client =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaStreamChannel.class)
                        .handler(new Echoed(all))
                        .connect(listener.localAddress())
                        .sync()
                        .channel();
        ByteBuf bytes = Unpooled.buffer(STREAM_BYTES);
        for (int i = 0; i < STREAM_BYTES; i++) {
            bytes.writeByte(i * 31);
        }
        client.writeAndFlush(bytes);
        all.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        client.close().sync();
        listener.close().sync();
    }
}
