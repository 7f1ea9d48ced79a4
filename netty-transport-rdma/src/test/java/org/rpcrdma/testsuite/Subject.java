// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.testsuite;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.testsuite.transport.AbstractComboTestsuiteTest;
import io.netty.testsuite.transport.TestsuitePermutation;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.AbstractServerSocketTest;
import java.util.List;
import java.util.ServiceLoader;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.FixedValue;
import net.bytebuddy.matcher.ElementMatchers;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/** A kind of channel that Netty's testsuite is run on. */
enum Subject {
    STREAM("RdmaStreamChannel", RdmaServerStreamChannel.class, RdmaStreamChannel.class),
    MESSAGES("RdmaChannel", RdmaServerChannel.class, RdmaChannel.class);

    /** The tests know nothing of the length of a message, and nothing of how many may be under way. */
    private static final int MESSAGE = 68 << 10;

    private static final int DEPTH = 1100;

    /** The channels do not look at the allocator of a buffer, so one has to do; Netty has three. */
    private static final List<ByteBufAllocator> ALLOCATORS =
            Boolean.getBoolean("netty.testsuite.all")
                    ? TestsuitePermutation.allocator()
                    : List.of(PooledByteBufAllocator.DEFAULT);

    /** As many loops as Netty's own transports have: some tests block one until another has done something. */
    private static final EventLoopGroup BOSSES = group(2);

    private static final EventLoopGroup WORKERS = group(3);

    private static EventLoopGroup group(int loops) {
        return ServiceLoader.load(TestedEventLoops.class)
                .findFirst()
                .map(tested -> tested.group(loops, Rdma.provider("iwarp")))
                .orElseGet(
                        () ->
                                new RdmaEventLoopGroup(
                                        loops, Rdma.provider("iwarp"), PollMode.ADAPTIVE));
    }

    private final String title;
    private final Class<? extends ServerChannel> server;
    private final Class<? extends Channel> client;

    Subject(String title, Class<? extends ServerChannel> server, Class<? extends Channel> client) {
        this.title = title;
        this.server = server;
        this.client = client;
    }

    /** The name of the channel class. */
    String title() {
        return title;
    }

    private ServerBootstrap serverBootstrap() {
        ServerBootstrap bootstrap = new ServerBootstrap().group(BOSSES, WORKERS).channel(server);
        if (this == MESSAGES) {
            bootstrap
                    .childOption(RdmaChannelOption.RECEIVE_SIZE, MESSAGE)
                    .childOption(RdmaChannelOption.RECEIVE_DEPTH, DEPTH);
        }
        return bootstrap;
    }

    private Bootstrap clientBootstrap() {
        Bootstrap bootstrap = new Bootstrap().group(WORKERS).channel(client);
        if (this == MESSAGES) {
            bootstrap
                    .option(RdmaChannelOption.RECEIVE_SIZE, MESSAGE)
                    .option(RdmaChannelOption.RECEIVE_DEPTH, DEPTH);
        }
        return bootstrap;
    }

    /** The same test class, on this kind of channel. */
    Class<?> on(Class<?> test) {
        Object factories;
        if (AbstractComboTestsuiteTest.class.isAssignableFrom(test)) {
            factories =
                    List.of(
                            new BootstrapComboFactory<ServerBootstrap, Bootstrap>() {
                                @Override
                                public ServerBootstrap newServerInstance() {
                                    return serverBootstrap();
                                }

                                @Override
                                public Bootstrap newClientInstance() {
                                    return clientBootstrap();
                                }
                            });
        } else if (AbstractServerSocketTest.class.isAssignableFrom(test)) {
            BootstrapFactory<ServerBootstrap> servers = this::serverBootstrap;
            factories = List.of(servers);
        } else {
            BootstrapFactory<Bootstrap> clients = this::clientBootstrap;
            factories = List.of(clients);
        }
        return new ByteBuddy()
                .subclass(test)
                .name("org.rpcrdma.testsuite." + name() + "$" + test.getSimpleName())
                .method(ElementMatchers.named("newFactories"))
                .intercept(FixedValue.reference(factories))
                .method(ElementMatchers.named("newAllocators"))
                .intercept(FixedValue.reference(ALLOCATORS))
                .make()
                .load(Subject.class.getClassLoader(), ClassLoadingStrategy.Default.INJECTION)
                .getLoaded();
    }
}
