// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/**
 * A target that is a connection over the software RNIC: an input is a {@link FuzzScript}, and what has to hold is
 * said in {@link FuzzRun}. Both ends and all inputs share one event loop; connections and configurations are new for
 * each input.
 */
abstract class ConnectionFuzzTarget extends FuzzTarget {

    private static final RpcRdmaConfig PEER =
            RpcRdmaConfig.builder()
                    .requestedCredits(64)
                    .grantedCredits(64)
                    .announceReadChunkReplies(false)
                    .build();

    /** Its thread ends with the process. */
    private static final RdmaEventLoopGroup GROUP =
            new RdmaEventLoopGroup(
                    1, new DefaultThreadFactory("fuzz", true), Rdma.provider(), PollMode.BLOCKING);

    private static final Map<Integer, Channel> LISTENERS = new HashMap<>();

    private static volatile FuzzRun current;

    /** What the two sides may be configured for here: what is the same in all inputs, and what they choose. */
    abstract int variant(int chosen);

    @Override
    @Property(tries = 1000, seed = "1", edgeCases = EdgeCasesMode.NONE)
    protected void spoiledSeeds(@ForAll("spoiled") byte[] input) throws Exception {
        check(input);
    }

    @Override
    protected void check(byte[] input) throws Exception {
        FuzzScript script = FuzzScript.parse(input);
        int variant = variant(script.variant());
        FuzzRun run = new FuzzRun(new FuzzScript(variant, script.steps()), GROUP.next());
        current = run;
        Channel listener = listener(variant, run);
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(GROUP)
                        .channel(RdmaChannel.class)
                        .handler(new Initializer(!run.accepts()));
        (run.accepts() ? PEER : run.codecConfig()).applyTo(bootstrap);
        ChannelFuture connect = bootstrap.connect(listener.localAddress());
        if (!connect.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS) || !connect.isSuccess()) {
            throw new AssertionError("no connection", connect.cause());
        }
        try {
            run.await();
        } catch (ExecutionException e) {
            throw new AssertionError("at " + run, e.getCause());
        } finally {
            close(connect.channel());
            close(run.codec());
            close(run.peer().channel());
        }
    }

    /** What a run that has failed leaves open. */
    private static void close(Channel channel) {
        if (channel != null && channel.isOpen()) {
            channel.close().syncUninterruptibly();
        }
    }

    private static synchronized Channel listener(int variant, FuzzRun run)
            throws InterruptedException {
        Channel known = LISTENERS.get(variant);
        if (known == null) {
            ServerBootstrap server =
                    new ServerBootstrap()
                            .group(GROUP)
                            .channel(RdmaServerChannel.class)
                            .childHandler(new Initializer(run.accepts()));
            (run.accepts() ? run.codecConfig() : PEER).applyTo(server);
            known = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            LISTENERS.put(variant, known);
        }
        return known;
    }

    private static final class Initializer extends ChannelInitializer<Channel> {
        private final boolean isCodec;

        Initializer(boolean isCodec) {
            this.isCodec = isCodec;
        }

        @Override
        protected void initChannel(Channel channel) {
            FuzzRun run = current;
            if (isCodec) {
                channel.pipeline().addLast(run.wire(), run.newCodec(), run.user());
            } else {
                channel.pipeline().addLast(run.peer());
            }
        }
    }
}
