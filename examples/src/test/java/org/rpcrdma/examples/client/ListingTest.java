// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.common.Xdr;
import org.rpcrdma.examples.nfs.NfsHandle;

/** Directories of servers that get to no end. */
class ListingTest {

    /** XID, type, RPC version, program, version, procedure, two empty authenticators, a handle of 4 bytes. */
    private static final int COOKIE_OFFSET = 40 + 8;

    private static final int HANDLE = 0x12345678;

    @Test
    void aServerThatRepeatsAPageIsNoticed() throws IOException {
        assertThat(namesBeforeTheEnd(cookie -> 7)).containsExactly("f-7");
    }

    @Test
    void aServerThatStartsAgainIsNoticed() throws IOException {
        assertThat(namesBeforeTheEnd(cookie -> 0)).isEmpty();
    }

    @Test
    void aServerThatGoesRoundInCirclesIsNoticed() throws IOException {
        assertThat(namesBeforeTheEnd(cookie -> cookie % 5 + 1))
                .contains("f-1", "f-2", "f-3", "f-4", "f-5")
                .hasSizeLessThan(20);
    }

    @Property
    void anyCircleIsFoundAndNothingElse(
            @ForAll @IntRange(max = 500) int before,
            @ForAll @IntRange(min = 1, max = 500) int length) {
        CookieWatch watch = new CookieWatch();
        int pages = 0;
        boolean isRepeated = false;
        while (!isRepeated) {
            int position = pages < before ? pages : before + (pages - before) % length;
            isRepeated = watch.isRepeated(1 + position * 0x123456789L);
            pages++;
        }
        assertThat(pages).isBetween(before + length + 1, 1 + 3 * (before + length));
    }

    private static List<String> namesBeforeTheEnd(LongUnaryOperator next) throws IOException {
        List<String> names = new ArrayList<>();
        EventLoopGroup group = new NioEventLoopGroup(1);
        try {
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(NioServerSocketChannel.class)
                            .childHandler(
                                    new ChannelInitializer<Channel>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline()
                                                    .addLast(
                                                            new RecordMarkingHandler(),
                                                            new Server(next));
                                        }
                                    })
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .syncUninterruptibly()
                            .channel();
            try (RpcConnection rpc =
                    RpcConnection.tcp((InetSocketAddress) listener.localAddress())) {
                Nfs3Client client = new Nfs3Client(rpc, OpaqueAuth.NONE);
                ByteBuf handle = Unpooled.buffer().writeInt(4).writeInt(HANDLE);
                NfsHandle directory = NfsHandle.read(new XdrReader(handle));
                assertThatThrownBy(
                                () ->
                                        client.list(
                                                directory, "/d", entry -> names.add(entry.name())))
                        .hasMessageContaining("/d: the server repeats itself");
            }
        } finally {
            group.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
        }
        return names;
    }

    /** Answers each READDIRPLUS with one entry and another page to come. */
    private static final class Server extends SimpleChannelInboundHandler<ByteBuf> {

        private final LongUnaryOperator next;

        Server(LongUnaryOperator next) {
            this.next = next;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            long cookie = next.applyAsLong(call.getLong(call.readerIndex() + COOKIE_OFFSET));
            ByteBuf reply = ctx.alloc().buffer().writeInt(call.readInt()).writeInt(1);
            reply.writeZero(16).writeInt(0).writeInt(0).writeLong(99);
            reply.writeInt(1).writeLong(cookie);
            Xdr.writeString(reply, "f-" + cookie);
            reply.writeLong(cookie).writeInt(1);
            reply.writeInt(1).writeInt(0100644).writeInt(1).writeZero(84 - 12);
            reply.writeInt(1).writeInt(4).writeInt(HANDLE);
            ctx.writeAndFlush(reply.writeInt(0).writeInt(0));
        }
    }
}
