// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.Proxy;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/** Promises of posted messages, whatever becomes of their work. */
class SendQueuePosterTest {

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();

    /** The ids of what was posted, in order. */
    private final List<Long> ids = new ArrayList<>();

    private final SendQueuePoster poster = new SendQueuePoster(device(), null, 16, channel);

    private QueuePair device() {
        return (QueuePair)
                Proxy.newProxyInstance(
                        QueuePair.class.getClassLoader(),
                        new Class<?>[] {QueuePair.class},
                        (proxy, method, arguments) -> {
                            if (arguments != null) {
                                ids.add((Long) arguments[0]);
                            }
                            return null;
                        });
    }

    @AfterEach
    void end() {
        channel.close();
    }

    private ChannelFuture write(Object message) {
        ChannelPromise promise = channel.newPromise();
        outbound.addMessage(message, 0, promise);
        return promise;
    }

    private static RdmaRead read() {
        return new RdmaRead(Unpooled.EMPTY_BUFFER, 1, 0);
    }

    /** A device may know which work is to blame for the end, and that others before it were not done. */
    @Test
    void whatWasFlushedBeforeTheCulpritFailsWithIt() throws Exception {
        ChannelFuture flushed = write(read());
        ChannelFuture culprit = write(new RdmaWrite(Unpooled.EMPTY_BUFFER, 1, 0));
        ChannelFuture behind = write(read());
        outbound.addFlush();
        poster.post(outbound);
        poster.completed(ids.get(0), WorkStatus.FLUSHED);
        assertThat(flushed.isDone()).isFalse();
        poster.completed(ids.get(1), WorkStatus.LOCAL_PROTECTION_ERROR);
        assertThat(flushed.cause())
                .isInstanceOf(ClosedChannelException.class)
                .hasCauseInstanceOf(WorkRequestFailedException.class);
        assertThat(culprit.cause())
                .isInstanceOf(WorkRequestFailedException.class)
                .hasMessageContaining("LOCAL_PROTECTION_ERROR");
        poster.completed(ids.get(2), WorkStatus.FLUSHED);
        assertThat(behind.isDone()).isFalse();
    }
}
