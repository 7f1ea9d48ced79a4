// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.codec.BoundedDuplicateRequestCache;
import org.rpcrdma.codec.DuplicateRequestCache;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.RpcServerHandler;

/**
 * Echoes calls and streams for {@link ImpairedClient}. Executes each call once, also one that comes again on the next
 * connection: its reply is in the cache by then, because it is given before the next call is read.
 *
 * <pre>ImpairedServer ADDRESS PORT STREAM_PORT</pre>
 */
public final class ImpairedServer {

    static final int PROGRAM = 0x20000028;
    static final int ECHO = 1;

    /** Answered with how many calls were executed, and how many of them twice. */
    static final int COUNT = 2;

    static final int LONGEST = 1 << 18;

    /**
     * Replies that are remembered, more than {@link ImpairedClient#MOST_CALLS}: a call that was executed and comes
     * again finds its reply, unless replies far longer than the average have used up the bytes first.
     */
    private static final int REPLIES = 1024;

    private static final int LONGEST_REPLY = LONGEST + 256;

    private final Set<Long> executed = ConcurrentHashMap.newKeySet();
    private int doubled;

    private ImpairedServer() {}

    public static void main(String[] arguments) throws Exception {
        ImpairedServer server = new ImpairedServer();
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        DuplicateRequestCache duplicates =
                new BoundedDuplicateRequestCache(
                        REPLIES,
                        LONGEST_REPLY,
                        64 << 20,
                        (number, version, procedure) -> procedure == ECHO);
        RpcProgram program =
                RpcProgram.builder(PROGRAM)
                        .procedure(1, ECHO, server::echo)
                        .procedure(1, COUNT, server::count)
                        .build();
        config.applyTo(bootstrap(loops).channel(RdmaServerChannel.class))
                .childHandler(
                        new ChannelInitializer<RdmaChannel>() {
                            @Override
                            protected void initChannel(RdmaChannel channel) {
                                channel.pipeline()
                                        .addLast(
                                                new RpcRdmaCodec(config, metrics, duplicates),
                                                new RpcServerHandler(program));
                            }
                        })
                .bind(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])))
                .sync();
        bootstrap(loops)
                .channel(RdmaServerStreamChannel.class)
                .childHandler(new Echo())
                .bind(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[2])))
                .sync();
        System.out.println("READY");
    }

    private static ServerBootstrap bootstrap(RdmaEventLoopGroup loops) {
        return new ServerBootstrap().group(loops).childOption(ChannelOption.SO_KEEPALIVE, true);
    }

    private void echo(RpcServerCall call) throws Exception {
        byte[] data = call.read(in -> in.readOpaque(LONGEST));
        if (!executed.add(ImpairedData.number(data))) {
            doubled++;
        }
        call.reply(out -> out.writeOpaque(data));
    }

    private void count(RpcServerCall call) {
        call.reply(out -> out.writeInt(executed.size()).writeInt(doubled));
    }

    /** Sends back what comes. */
    @ChannelHandler.Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object data) {
            ctx.writeAndFlush(data, ctx.voidPromise());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
