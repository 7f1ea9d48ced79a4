// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** A round of an event loop polls the device until no ready connections are left, but not for ever, then runs tasks. */
class EventLoopRoundTest {

    private final RdmaEventLoopGroup group =
            new RdmaEventLoopGroup(
                    1,
                    InterceptedDevice.of(new IwarpProvider(IwarpConfig.defaults()), this::called),
                    PollMode.ADAPTIVE);

    // Of the thread of the loop.
    private int polls;
    private int left;
    private int bytes;

    /** Each poll has something for it. */
    private AbstractRdmaChannel delivered;

    private Object called(InterceptedDevice.Call call) throws Throwable {
        switch (call.name()) {
            case "poll" -> {
                polls++;
                if (delivered != null) {
                    delivered.poller().ready(delivered);
                }
                return (int) call.proceed() + bytes;
            }
            case "hasReadyConnections" -> {
                return left-- > 0;
            }
            default -> {
                return call.proceed();
            }
        }
    }

    @AfterEach
    void end() {
        group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    @Test
    void readyConnectionsAreServedBeforeTasks() throws Exception {
        assertThat(pollsBetweenTasks(3, 1)).isEqualTo(4);
    }

    /** A device may be wrong, or its poll be replaced: tasks run nevertheless. */
    @Test
    void aPollThatFindsNothingIsTheLastOne() throws Exception {
        assertThat(pollsBetweenTasks(1000, 0)).isEqualTo(1);
    }

    @Test
    void tasksRunAfterMuchInput() throws Exception {
        assertThat(pollsBetweenTasks(1000, 16 << 10)).isEqualTo(2);
    }

    /** Their answers may be longer than what has come. */
    @Test
    void tasksRunAfterManyDeliveries() throws Exception {
        AbstractRdmaChannel listener =
                (AbstractRdmaChannel)
                        new ServerBootstrap()
                                .group(group)
                                .channel(RdmaServerChannel.class)
                                .childHandler(new ChannelInboundHandlerAdapter())
                                .bind(InetAddress.getLoopbackAddress(), 0)
                                .sync()
                                .channel();
        listener.eventLoop().submit(() -> delivered = listener).sync();
        assertThat(pollsBetweenTasks(1000, 1)).isEqualTo(64);
    }

    /**
     * @param more how often the device says that more connections are ready
     * @param bytes of each poll
     */
    private int pollsBetweenTasks(int more, int bytes) throws Exception {
        EventExecutor loop = group.next();
        Promise<Integer> counted = loop.newPromise();
        loop.execute(
                () -> {
                    polls = 0;
                    left = more;
                    this.bytes = bytes;
                    // Not in this round: it has taken the tasks that are due.
                    loop.schedule(() -> end(counted), 0, TimeUnit.NANOSECONDS);
                });
        return counted.get(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private void end(Promise<Integer> counted) {
        left = 0;
        bytes = 0;
        delivered = null;
        counted.setSuccess(polls);
    }
}
