// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.channel.internal.ChannelInternals;

/** When a channel says that what is written had better go out in parts. */
class FlushInPartsTest {

    private final ConnectedPair.Inbox inbox = new ConnectedPair.Inbox();

    @ParameterizedTest
    @CsvSource({"BUSY, 2, true", "ADAPTIVE, 2, true", "ADAPTIVE, 1, false", "BLOCKING, 2, false"})
    void whileALoopThatPollsHasNothingForOtherChannels(PollMode mode, int cpus, boolean inParts)
            throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, Rdma.provider(), mode);
        EventLoopDevicePoller poller = ((RdmaEventLoop) group.next()).poller();
        poller.limitPolling(new PollingEventLoopLimit(cpus));
        try (ConnectedPair pair = new ConnectedPair()) {
            pair.serverInbox.channels.clear();
            RdmaChannel one = connect(group, pair);
            Channel toOne = pair.serverInbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            RdmaChannel other = connect(group, pair);
            Channel toOther = pair.serverInbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);

            bring(toOther);
            bring(toOne);
            assertThat(flushesInParts(one)).isFalse();
            bring(toOne);
            assertThat(flushesInParts(one)).isEqualTo(inParts);
            assertThat(flushesInParts(other)).isFalse();
            bring(toOther);
            assertThat(flushesInParts(one)).isFalse();
            assertThat(flushesInParts(other)).isFalse();
            bring(toOther);
            assertThat(flushesInParts(other)).isEqualTo(inParts);
            assertThatThrownBy(ChannelInternals.of(other)::flushesInParts)
                    .isInstanceOf(IllegalStateException.class);
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private RdmaChannel connect(RdmaEventLoopGroup group, ConnectedPair pair) throws Exception {
        return (RdmaChannel)
                new Bootstrap()
                        .group(group)
                        .channel(RdmaChannel.class)
                        .handler(ConnectedPair.initializer(inbox))
                        .connect(pair.address())
                        .sync()
                        .channel();
    }

    /** In a round of its own: the one before is over. */
    private void bring(Channel from) throws Exception {
        from.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        assertThat(inbox.takeBytes()).hasSize(1);
    }

    private static boolean flushesInParts(RdmaChannel channel) throws Exception {
        return ConnectedPair.on(
                channel,
                () -> {
                    letPoll(channel.poller());
                    return ChannelInternals.of(channel).flushesInParts();
                });
    }

    /**
     * Tells a loop of waits that polling would have ended, at times to come: when an earlier one has lost its CPU, or
     * waited in vain, it polls again.
     */
    private static void letPoll(EventLoopDevicePoller poller) {
        long now = poller.context.nanoTime() + 2 * AdaptivePollWindow.LAST_PAUSE_NANOS;
        for (int i = 0; i < 2 * AdaptivePollWindow.MOST_SKIPPED; i++) {
            poller.roundEnded(now, now, now, true);
            if (poller.tryPollAgain(now, now)) {
                return;
            }
            now += AdaptivePollWindow.MAX_NANOS / 2;
        }
    }
}
