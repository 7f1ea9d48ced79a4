// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.*;
import io.netty.channel.*;
import java.net.InetAddress;
import java.util.Map;
import java.util.concurrent.*;
import org.dcache.oncrpc4j.rpc.*;
import org.dcache.oncrpc4j.xdr.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.oncrpc4j.OncRpcHandler;

/** A program of oncrpc4j and its client: {@link OncRpcHandler} takes the place of its own service and client. */
public final class OncRpc4jExample {

    private OncRpc4jExample() {}

    private static ChannelInitializer<Channel> initializer(
            RpcRdmaConfig config, Map<OncRpcProgram, RpcDispatchable> programs, ExecutorService threads) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new RpcRdmaCodec(config), new OncRpcHandler(programs, threads));
            }
        };
    }

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        EventLoopGroup group = new RdmaEventLoopGroup(1);
        ExecutorService threads = Executors.newSingleThreadExecutor();
        RpcDispatchable twice = call -> {
            XdrInt argument = new XdrInt();
            call.retrieveCall(argument);
            call.reply(new XdrInt(2 * argument.intValue()));
        };
        try {
            Channel server = config.applyTo(new ServerBootstrap().group(group).channel(RdmaServerChannel.class))
                    .childHandler(initializer(config, Map.of(new OncRpcProgram(0x20000001, 1), twice), threads))
                    .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            Channel client = config.applyTo(new Bootstrap().group(group).channel(RdmaChannel.class))
                    .handler(initializer(config, Map.of(), threads)).connect(server.localAddress()).sync().channel();
            RpcTransport transport = client.pipeline().get(OncRpcHandler.class).transport();
            XdrInt result = new XdrInt();
            new RpcCall(0x20000001, 1, new RpcAuthTypeNone(), transport).call(1, new XdrInt(21), result);
            System.out.println("twice 21: " + result.intValue());
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            threads.shutdown();
        }
    }
}
