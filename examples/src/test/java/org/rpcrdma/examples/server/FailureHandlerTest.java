// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FailureHandlerTest {

    private final List<String> events = new ArrayList<>();

    private final class Program extends ChannelInboundHandlerAdapter {
        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            events.add("inactive");
        }

        @Override
        public void channelUnregistered(ChannelHandlerContext ctx) {
            events.add("unregistered");
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            events.add("failure");
        }
    }

    @Test
    void neitherFailureNorEndReachesThePrograms() {
        EmbeddedChannel channel = new EmbeddedChannel(new FailureHandler(), new Program());
        channel.pipeline().fireExceptionCaught(new IllegalStateException("test"));
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
        assertThat(events).isEmpty();
    }
}
