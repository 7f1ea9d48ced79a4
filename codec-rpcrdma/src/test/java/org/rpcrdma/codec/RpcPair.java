// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.rpcrdma.Device;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/** Two channels connected over the software RNIC; each side has the codec, or is raw and speaks bytes. */
final class RpcPair implements AutoCloseable {

    /** Long enough for any machine; nothing is measured by it. */
    static final long PATIENCE_SECONDS = 30;

    final Inbox client = new Inbox();
    final Inbox server = new Inbox();
    RdmaChannel clientChannel;
    RdmaChannel serverChannel;
    private final Channel listener;
    private final Bootstrap clients;
    private final RdmaEventLoopGroup group;

    /** What all peers know: without long Sends, so that chunks begin behind 4096 bytes. */
    static RpcRdmaConfig.Builder usual() {
        return RpcRdmaConfig.builder().longSize(0);
    }

    /** Both sides with the codec. */
    static RpcPair of(RpcRdmaConfig client, RpcRdmaConfig server) throws Exception {
        return of(CodecEnd.of(client), CodecEnd.of(server));
    }

    /** As above, on event loops that always poll. */
    static RpcPair polling(RpcRdmaConfig client, RpcRdmaConfig server) throws Exception {
        return new RpcPair(
                CodecEnd.of(client),
                true,
                CodecEnd.of(server),
                true,
                bootstrap -> {},
                new CrossConnectionPeerState(),
                PollMode.BUSY);
    }

    /** As above, with counters or a cache of the test. */
    static RpcPair of(CodecEnd client, CodecEnd server) throws Exception {
        return new RpcPair(client, true, server, true);
    }

    /** A raw requester that announces what the configuration says. */
    static RpcPair rawClient(RpcRdmaConfig client, RpcRdmaConfig server) throws Exception {
        return new RpcPair(CodecEnd.of(client), false, CodecEnd.of(server), true);
    }

    /** As above, with options of the client that the configuration would not set. */
    static RpcPair rawClient(
            RpcRdmaConfig client, RpcRdmaConfig server, Consumer<Bootstrap> options)
            throws Exception {
        return new RpcPair(
                CodecEnd.of(client),
                false,
                CodecEnd.of(server),
                true,
                options,
                new CrossConnectionPeerState(),
                PollMode.ADAPTIVE);
    }

    /** As above, with a server that remembers peers of earlier connections. */
    static RpcPair rawClient(RpcRdmaConfig client, CodecEnd server, CrossConnectionPeerState memory)
            throws Exception {
        return new RpcPair(
                CodecEnd.of(client),
                false,
                server,
                true,
                bootstrap -> {},
                memory,
                PollMode.ADAPTIVE);
    }

    static RpcPair rawServer(RpcRdmaConfig client, RpcRdmaConfig server) throws Exception {
        return new RpcPair(CodecEnd.of(client), true, CodecEnd.of(server), false);
    }

    /** As above, with options of the client that the configuration would not set. */
    static RpcPair rawServer(
            RpcRdmaConfig client, RpcRdmaConfig server, Consumer<Bootstrap> options)
            throws Exception {
        return new RpcPair(
                CodecEnd.of(client),
                true,
                CodecEnd.of(server),
                false,
                options,
                new CrossConnectionPeerState(),
                PollMode.ADAPTIVE);
    }

    /** A raw responder that announces nothing. */
    static RpcPair silentServer(RpcRdmaConfig client) throws Exception {
        return new RpcPair(CodecEnd.of(client), true, null, false);
    }

    private RpcPair(
            CodecEnd clientEnd, boolean clientCodec, CodecEnd serverEnd, boolean serverCodec)
            throws Exception {
        this(
                clientEnd,
                clientCodec,
                serverEnd,
                serverCodec,
                bootstrap -> {},
                new CrossConnectionPeerState(),
                PollMode.ADAPTIVE);
    }

    private RpcPair(
            CodecEnd clientEnd,
            boolean clientCodec,
            CodecEnd serverEnd,
            boolean serverCodec,
            Consumer<Bootstrap> options,
            CrossConnectionPeerState memory,
            PollMode mode)
            throws Exception {
        group = new RdmaEventLoopGroup(2, Rdma.provider(), mode);
        RpcRdmaConfig clientConfig = clientEnd.config();
        RpcRdmaConfig serverConfig = serverEnd == null ? null : serverEnd.config();
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaChannel.class)
                        .handler(initializer(client, clientCodec ? clientEnd : null));
        clientConfig.applyTo(bootstrap);
        if (!clientCodec) {
            bootstrap.option(RdmaChannelOption.PRIVATE_DATA, foreign(clientConfig));
        }
        options.accept(bootstrap);
        ServerBootstrap serverBootstrap =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(initializer(server, serverCodec ? serverEnd : null));
        if (serverConfig != null) {
            serverConfig
                    .applyTo(serverBootstrap)
                    .childOption(RdmaChannelOption.PEER_PRIVATE_DATA, assumed(clientConfig))
                    .childAttr(CrossConnectionPeerState.KEY, memory);
            bootstrap.option(RdmaChannelOption.PEER_PRIVATE_DATA, assumed(serverConfig));
            if (!serverCodec) {
                serverBootstrap.childOption(RdmaChannelOption.PRIVATE_DATA, foreign(serverConfig));
            }
        }
        listener = serverBootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        clients = bootstrap;
        connect();
    }

    private void connect() throws Exception {
        clientChannel = (RdmaChannel) clients.connect(listener.localAddress()).sync().channel();
        serverChannel = server.active.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        settle(clientChannel);
    }

    /** What comes to the server keeps its receive until {@code serverChannel.read()}, of one message each time. */
    void readByHand() throws Exception {
        on(
                serverChannel.eventLoop(),
                () -> {
                    RecvByteBufAllocator reads = serverChannel.config().getRecvByteBufAllocator();
                    ((MaxMessagesRecvByteBufAllocator) reads).maxMessagesPerRead(1);
                    serverChannel.config().setAutoRead(false);
                });
    }

    /** Ends the connection, whose messages are gone, and makes the next one, to the same listener. */
    void reconnect() throws Exception {
        serverChannel.config().setAutoRead(true); // who does not read does not see the end
        clientChannel.close().sync();
        if (!server.awaitInactive() || !client.awaitInactive()) {
            throw new AssertionError("the connection does not end");
        }
        client.releaseAll();
        server.releaseAll();
        connect();
    }

    /** What a peer announces that is not of this project, on the same device. */
    static byte[] foreign(RpcRdmaConfig config) {
        PrivateData data = config.privateData();
        boolean invalidation = data.remoteInvalidation() && Device.can("remoteInvalidation");
        return new PrivateData(data.sendSize(), data.receiveSize(), invalidation).encode();
    }

    /** For devices without private data: what both ends are configured to be. Such a device lets nobody invalidate. */
    private static byte[] assumed(RpcRdmaConfig config) {
        PrivateData data = config.privateData();
        return new PrivateData(data.sendSize(), data.receiveSize(), false).encode();
    }

    private static ChannelInitializer<Channel> initializer(Inbox inbox, CodecEnd end) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                if (end != null) {
                    channel.pipeline().addLast(end.codec());
                }
                channel.pipeline().addLast(inbox);
            }
        };
    }

    /** Opens the reverse direction on the sides that have the codec; returns what the client grants. */
    int openReverse(int credits) throws Exception {
        int granted = 0;
        if (clientConnection() != null) {
            granted = on(clientChannel, () -> clientConnection().acceptReverseCalls(credits));
        }
        if (serverConnection() != null) {
            on(
                    serverChannel,
                    () -> {
                        serverConnection().allowReverseCalls();
                        return null;
                    });
        }
        return granted;
    }

    /** Writes from the client. */
    ChannelFuture call(Object message) {
        return clientChannel.writeAndFlush(message);
    }

    /** Writes from the server. */
    ChannelFuture reply(Object message) {
        return serverChannel.writeAndFlush(message);
    }

    RpcRdmaConnection clientConnection() {
        return RpcRdmaConnection.of(clientChannel);
    }

    RpcRdmaConnection serverConnection() {
        return RpcRdmaConnection.of(serverChannel);
    }

    /** Waits until the server has counted so many. */
    void awaitValue(RpcRdmaCounter counter, long value) {
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> serverConnection().value(counter) == value);
    }

    /** Runs on the channel's event loop and waits for the result. */
    static <T> T on(Channel channel, Callable<T> action) throws Exception {
        return channel.eventLoop().submit(action).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** As above; an assertion that fails there fails here. */
    static void on(EventLoopGroup loop, Runnable action) throws Exception {
        try {
            loop.submit(action).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof AssertionError failed) {
                throw failed;
            }
            throw e;
        }
    }

    /** The codec, and one who reads whole messages. */
    static ChannelInitializer<RdmaChannel> pipeline(
            RpcRdmaConfig config, BiConsumer<ChannelHandlerContext, ByteBuf> reader) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(RdmaChannel channel) {
                channel.pipeline()
                        .addLast(
                                new RpcRdmaCodec(config),
                                new SimpleChannelInboundHandler<ByteBuf>() {
                                    @Override
                                    protected void channelRead0(
                                            ChannelHandlerContext ctx, ByteBuf message) {
                                        reader.accept(ctx, message);
                                    }
                                });
            }
        };
    }

    /** Returns when everything that the channel had to do so far is done. */
    static void settle(Channel channel) throws Exception {
        on(channel, () -> null);
    }

    @Override
    public void close() {
        listener.close().syncUninterruptibly();
        clientChannel.close().syncUninterruptibly();
        serverChannel.close().syncUninterruptibly();
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        client.releaseAll();
        server.releaseAll();
    }

    /** Keeps what arrives, in order. */
    @Sharable
    static final class Inbox extends ChannelInboundHandlerAdapter {
        final BlockingQueue<Object> messages = new LinkedBlockingQueue<>();
        final BlockingQueue<RdmaChannel> active = new LinkedBlockingQueue<>();
        final BlockingQueue<Channel> inactive = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

        Object take() throws InterruptedException {
            Object message = messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (message == null) {
                throw new AssertionError("no message arrived; errors: " + errors);
            }
            return message;
        }

        ByteBuf takeBuffer() throws InterruptedException {
            Object message = take();
            if (message instanceof ByteBuf buffer) {
                return buffer;
            }
            throw new AssertionError("expected a message, got " + message);
        }

        /** The next message as bytes; the buffer is released. */
        byte[] takeBytes() throws InterruptedException {
            return Rpc.bytes(takeBuffer());
        }

        /** The XID of the next message; the buffer is released. */
        int takeXid() throws InterruptedException {
            ByteBuf message = takeBuffer();
            int xid = Rpc.xid(message);
            message.release();
            return xid;
        }

        RpcRdmaException takeFailure() throws InterruptedException {
            return ((CallFailureMessage) take()).cause();
        }

        boolean awaitInactive() throws InterruptedException {
            return inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS) != null;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            active.add((RdmaChannel) ctx.channel());
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            inactive.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            messages.add(message);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }

        void releaseAll() {
            messages.forEach(ReferenceCountUtil::release);
            messages.clear();
        }
    }
}
