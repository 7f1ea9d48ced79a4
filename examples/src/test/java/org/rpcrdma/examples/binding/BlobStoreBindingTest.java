// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.binding;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.examples.common.Calls;
import org.rpcrdma.examples.common.RpcConnection;
import org.rpcrdma.examples.common.Xdr;

/** Nobody names the binding: the class path is all that it takes. */
class BlobStoreBindingTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** A plain RPC handler: it reads and writes whole RPC messages and knows nothing of RDMA. */
    private static final class BlobStore extends SimpleChannelInboundHandler<ByteBuf> {
        private final Map<String, byte[]> blobs = new HashMap<>();

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            int xid = call.readInt();
            call.skipBytes(4 * 4); // type, RPC version, program, version
            int procedure = call.readInt();
            call.skipBytes(2 * 8); // credential and verifier, both empty
            ByteBuf reply = ctx.alloc().directBuffer();
            reply.writeInt(xid).writeInt(1).writeZero(4 * 4); // accepted, no verifier, success
            String key = Xdr.readString(call, BlobStoreBinding.KEY_MAX);
            switch (procedure) {
                case BlobStoreBinding.PUT -> {
                    call.skipBytes(4);
                    blobs.put(key, Xdr.readOpaque(call, BlobStoreBinding.BLOB_MAX));
                    reply.writeInt(BlobStoreBinding.OK);
                }
                case BlobStoreBinding.GET -> {
                    byte[] blob = blobs.get(key);
                    if (blob == null) {
                        reply.writeInt(BlobStoreBinding.NO_SUCH_KEY);
                    } else {
                        Xdr.writeOpaque(reply.writeInt(BlobStoreBinding.OK), blob);
                    }
                }
                default ->
                        reply.writeInt(
                                blobs.remove(key) == null
                                        ? BlobStoreBinding.NO_SUCH_KEY
                                        : BlobStoreBinding.OK);
            }
            ctx.writeAndFlush(reply);
        }
    }

    @Test
    void theServiceLoaderFindsIt() {
        BindingRegistry standard = BindingRegistry.standard();
        assertThat(standard.find(BlobStoreBinding.PROGRAM, BlobStoreBinding.VERSION))
                .isInstanceOf(BlobStoreBinding.class);
        assertThat(standard.find(BlobStoreBinding.PROGRAM, 2))
                .isNotInstanceOf(BlobStoreBinding.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {100_001, 262_144, 1_048_575})
    void blobsArePlacedDirectlyInBothDirections(int length) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        Channel listener =
                config.applyTo(
                                new ServerBootstrap()
                                        .group(loops)
                                        .channel(RdmaServerChannel.class)
                                        .childHandler(
                                                new ChannelInitializer<>() {
                                                    @Override
                                                    protected void initChannel(Channel channel) {
                                                        channel.pipeline()
                                                                .addLast(
                                                                        new RpcRdmaCodec(
                                                                                config, metrics),
                                                                        new BlobStore());
                                                    }
                                                }))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        try (RpcConnection client =
                RpcConnection.rdma((InetSocketAddress) listener.localAddress(), config)) {
            byte[] blob = new byte[length];
            new Random(length).nextBytes(blob);

            ByteBuf put = key("alpha").writeInt(0);
            Xdr.writeOpaque(put, blob);
            assertThat(call(client, BlobStoreBinding.PUT, put)).isEqualTo(words(0));
            // The server has fetched the blob, and nothing but the blob, by RDMA Read.
            assertThat(metrics.value(RpcRdmaCounter.READ_BYTES)).isEqualTo(length);

            ByteBuf expected = Unpooled.buffer().writeInt(0);
            Xdr.writeOpaque(expected, blob);
            byte[] got = call(client, BlobStoreBinding.GET, key("alpha").writeInt(1 << 20));
            assertThat(got).isEqualTo(ByteBufUtil.getBytes(expected));
            // It has put the blob, and nothing but the blob, where the client wanted it.
            assertThat(client.metrics().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo(length);

            assertThat(call(client, BlobStoreBinding.DROP, key("alpha"))).isEqualTo(words(0));
            assertThat(call(client, BlobStoreBinding.GET, key("alpha").writeInt(1 << 20)))
                    .isEqualTo(words(BlobStoreBinding.NO_SUCH_KEY));
        } finally {
            listener.close().syncUninterruptibly();
            loops.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static ByteBuf key(String key) {
        ByteBuf arguments = Unpooled.buffer();
        Xdr.writeString(arguments, key);
        return arguments;
    }

    private static byte[] words(int word) {
        return ByteBufUtil.getBytes(Unpooled.buffer().writeInt(word));
    }

    private static byte[] call(RpcConnection client, int procedure, ByteBuf arguments)
            throws IOException {
        return Calls.await(
                client.client(BlobStoreBinding.PROGRAM, BlobStoreBinding.VERSION, TIMEOUT)
                        .call(procedure, arguments),
                ByteBufUtil::getBytes);
    }
}
