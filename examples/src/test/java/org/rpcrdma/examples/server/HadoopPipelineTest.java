// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.oncrpc.RpcAcceptedReply;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.RpcCall;
import org.apache.hadoop.oncrpc.RpcInfo;
import org.apache.hadoop.oncrpc.RpcProgram;
import org.apache.hadoop.oncrpc.RpcResponse;
import org.apache.hadoop.oncrpc.RpcUtil;
import org.apache.hadoop.oncrpc.SimpleTcpClientHandler;
import org.apache.hadoop.oncrpc.XDR;
import org.apache.hadoop.oncrpc.security.CredentialsNone;
import org.apache.hadoop.oncrpc.security.VerifierNone;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.examples.NfsFixture.Transport;
import org.rpcrdma.examples.common.Calls;
import org.rpcrdma.examples.common.RpcConnection;

/** The swap: Hadoop's own stages as Hadoop arranges them, with its frame decoder on TCP and the codec on RDMA. */
class HadoopPipelineTest {

    private static final int PROGRAM = 0x20001234;
    private static final int VERSION = 2;
    private static final int ECHO = 1;
    private static final int DENY = 2;
    private static final int PATIENCE_MILLIS = 30_000;

    @ParameterizedTest
    @EnumSource
    void callsAreAnsweredAlike(Transport transport) throws Exception {
        try (Server server = new Server(transport);
                RpcConnection client = server.connect()) {
            Random random = new Random(transport.name().length());
            for (int length : new int[] {0, 4, 1000, 4096, 20_000}) {
                byte[] bytes = new byte[length];
                random.nextBytes(bytes);
                assertThat(call(client, VERSION, ECHO, bytes)).isEqualTo(bytes);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatHadoopRefusesIsToldAlike(Transport transport) throws Exception {
        try (Server server = new Server(transport);
                RpcConnection client = server.connect()) {
            assertThatThrownBy(() -> call(client, VERSION + 1, ECHO, new byte[0]))
                    .hasMessageContaining("versions 2 to 2");
            assertThatThrownBy(() -> call(client, VERSION, DENY, new byte[0]))
                    .isInstanceOf(IOException.class);
            assertThat(call(client, VERSION, ECHO, new byte[8])).hasSize(8);
        }
    }

    /**
     * Hadoop's own client: it writes its call with a record mark as soon as it is connected, and closes after
     * the reply.
     */
    @ParameterizedTest
    @EnumSource
    void hadoopsClientIsSwappedInTheSameWay(Transport transport) throws Exception {
        byte[] arguments = new byte[10_000];
        new Random(1).nextBytes(arguments);
        XDR call = new XDR();
        RpcCall.getInstance(7, PROGRAM, VERSION, ECHO, new CredentialsNone(), VerifierNone.INSTANCE)
                .write(call);
        call.writeFixedOpaque(arguments);
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        boolean isTcp = transport == Transport.TCP;
        EventLoopGroup loops = isTcp ? new NioEventLoopGroup(1) : new RdmaEventLoopGroup(1);
        List<byte[]> replies = new CopyOnWriteArrayList<>();
        try (Server server = new Server(transport)) {
            Bootstrap bootstrap =
                    new Bootstrap()
                            .group(loops)
                            .channel(isTcp ? NioSocketChannel.class : RdmaChannel.class);
            if (!isTcp) {
                config.applyTo(bootstrap);
            }
            bootstrap
                    .option(ChannelOption.TCP_NODELAY, true)
                    .option(ChannelOption.SO_KEEPALIVE, true)
                    .handler(
                            new ChannelInitializer<Channel>() {
                                @Override
                                protected void initChannel(Channel channel) {
                                    channel.pipeline()
                                            .addLast(
                                                    isTcp
                                                            ? RpcUtil.constructRpcFrameDecoder()
                                                            : new RpcRdmaCodec(config),
                                                    new Listening(replies),
                                                    new SimpleTcpClientHandler(call));
                                }
                            });
            Channel client = bootstrap.connect(server.address).sync().channel();
            assertThat(client.closeFuture().await(PATIENCE_MILLIS)).isTrue();
        } finally {
            loops.shutdownGracefully(0, PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                    .syncUninterruptibly();
        }
        assertThat(replies).hasSize(1);
        byte[] reply = replies.get(0);
        assertThat(reply).hasSize(24 + arguments.length).startsWith(0, 0, 0, 7);
        assertThat(Arrays.copyOfRange(reply, 24, reply.length)).isEqualTo(arguments);
    }

    /** Looks at what passes by, and gives a copy on: Hadoop's handler releases nothing. */
    private static final class Listening extends ChannelInboundHandlerAdapter {
        private final List<byte[]> replies;

        Listening(List<byte[]> replies) {
            this.replies = replies;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf reply = (ByteBuf) message;
            byte[] bytes = ByteBufUtil.getBytes(reply);
            reply.release();
            replies.add(bytes);
            ctx.fireChannelRead(Unpooled.wrappedBuffer(bytes));
        }
    }

    private static byte[] call(RpcConnection client, int version, int procedure, byte[] arguments)
            throws IOException {
        OpaqueAuth user = OpaqueAuth.sys("test", 1, 2, List.of(3));
        return Calls.await(
                client.client(PROGRAM, version, Duration.ofMillis(PATIENCE_MILLIS))
                        .withCredentials(() -> user)
                        .call(procedure, Unpooled.copiedBuffer(arguments)),
                ByteBufUtil::getBytes);
    }

    private static final class Server implements AutoCloseable {

        private final Transport transport;
        private final EventLoopGroup boss;
        private final EventLoopGroup workers;
        private final InetSocketAddress address;

        Server(Transport transport) {
            this.transport = transport;
            RpcProgram program = new EchoProgram();
            RpcRdmaConfig config = RpcRdmaConfig.defaults();
            ServerBootstrap bootstrap = new ServerBootstrap();
            if (transport == Transport.TCP) {
                boss = new NioEventLoopGroup(1);
                workers = new NioEventLoopGroup(2);
                bootstrap.channel(NioServerSocketChannel.class);
            } else {
                boss = new RdmaEventLoopGroup(1);
                workers = new RdmaEventLoopGroup(2);
                config.applyTo(bootstrap.channel(RdmaServerChannel.class));
            }
            ChannelInitializer<Channel> pipeline =
                    new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            ChannelHandler framing =
                                    transport == Transport.TCP
                                            ? RpcUtil.constructRpcFrameDecoder()
                                            : new RpcRdmaCodec(config);
                            channel.pipeline()
                                    .addLast(
                                            framing,
                                            RpcUtil.STAGE_RPC_MESSAGE_PARSER,
                                            program,
                                            RpcUtil.STAGE_RPC_TCP_RESPONSE);
                        }
                    };
            Channel listener =
                    bootstrap
                            .group(boss, workers)
                            .childHandler(pipeline)
                            .childOption(ChannelOption.TCP_NODELAY, true)
                            .childOption(ChannelOption.SO_KEEPALIVE, true)
                            .childOption(ChannelOption.SO_REUSEADDR, true)
                            .option(ChannelOption.SO_REUSEADDR, true)
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .syncUninterruptibly()
                            .channel();
            address = (InetSocketAddress) listener.localAddress();
        }

        RpcConnection connect() throws IOException {
            return transport == Transport.TCP
                    ? RpcConnection.tcp(address)
                    : RpcConnection.rdma(address, RpcRdmaConfig.defaults());
        }

        @Override
        public void close() {
            for (EventLoopGroup group : List.of(workers, boss)) {
                group.shutdownGracefully(0, PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                        .syncUninterruptibly();
            }
        }
    }

    @ChannelHandler.Sharable
    private static final class EchoProgram extends RpcProgram {

        EchoProgram() {
            super("echo", "localhost", 0, PROGRAM, VERSION, VERSION, null, true);
        }

        @Override
        protected void handleInternal(ChannelHandlerContext ctx, RpcInfo info) {
            RpcCall call = (RpcCall) info.header();
            if (call.getProcedure() == DENY) {
                sendRejectedReply(call, info.remoteAddress(), ctx);
                return;
            }
            XDR header =
                    RpcAcceptedReply.getInstance(
                                    call.getXid(), AcceptState.SUCCESS, VerifierNone.INSTANCE)
                            .write(new XDR());
            ByteBuf reply =
                    Unpooled.wrappedBuffer(
                            Unpooled.wrappedBuffer(header.asReadOnlyWrap().buffer()),
                            info.data().copy());
            RpcUtil.sendRpcResponse(ctx, new RpcResponse(reply, info.remoteAddress()));
        }

        @Override
        protected boolean isIdempotent(RpcCall call) {
            return true;
        }
    }
}
