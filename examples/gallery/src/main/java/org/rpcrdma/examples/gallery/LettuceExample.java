// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.lettuce.core.*;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.netty.bootstrap.*;
import io.netty.channel.*;
import io.netty.handler.codec.redis.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.*;

/** Lettuce as the client of a small server: its channel class is set by overriding one method. */
public final class LettuceExample extends RedisClient {

    private final EventLoopGroup group;

    private LettuceExample(EventLoopGroup group, ClientResources resources, RedisURI uri) {
        super(resources, uri);
        this.group = group;
        setOptions(ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
    }

    @Override
    protected <K, V, T extends RedisChannelHandler<K, V>> ConnectionFuture<T> initializeChannelAsync(
            ConnectionBuilder connection) {
        connection.bootstrap(new Bootstrap().group(group).channel(RdmaStreamChannel.class));
        return super.initializeChannelAsync(connection);
    }

    /** Knows SET and GET, and says OK to the rest. */
    private static final class Server extends SimpleChannelInboundHandler<ArrayRedisMessage> {
        private final Map<String, String> values = new HashMap<>();
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ArrayRedisMessage call) {
            List<String> words = call.children().stream().map(word ->
                    ((FullBulkStringRedisMessage) word).content().toString(StandardCharsets.UTF_8)).toList();
            if (words.get(0).equals("SET")) {
                values.put(words.get(1), words.get(2));
            }
            String answer = words.get(0).equals("GET") ? values.get(words.get(1)) : "OK";
            ctx.writeAndFlush(new SimpleStringRedisMessage(answer));
        }
    }

    public static void main(String... args) throws Exception {
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        Channel server = new ServerBootstrap().group(group).channel(RdmaServerStreamChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new RedisDecoder(), new RedisBulkStringAggregator(),
                                new RedisArrayAggregator(16, 2), new RedisEncoder(), new Server());
                    }
                }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        ClientResources resources = ClientResources.create();
        RedisURI uri = RedisURI.create("127.0.0.1", ((InetSocketAddress) server.localAddress()).getPort());
        try (RedisClient client = new LettuceExample(group, resources, uri)) {
            RedisCommands<String, String> redis = client.connect().sync();
            System.out.println("SET: " + redis.set("key", "value") + ", GET: " + redis.get("key"));
        }
        resources.shutdown(0, 10, TimeUnit.SECONDS).sync();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
    }
}
