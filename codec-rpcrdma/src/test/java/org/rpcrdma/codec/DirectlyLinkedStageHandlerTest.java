// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

/** The short way between stages has the effect of the pipeline's way. */
class DirectlyLinkedStageHandlerTest {

    private static final String BAD = "bad";

    /** Adds its name to what passes; does not like {@link #BAD}, and meets it only behind another stage. */
    private static class Named extends DirectlyLinkedStageHandler {

        private final String name;
        private final boolean isFussy;

        Named(String name, boolean isFussy) {
            this.name = name;
            this.isFussy = isFussy;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            check(message);
            toUser(message + name);
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            check(message);
            toNetwork(message + name, promise);
        }

        private void check(Object message) {
            if (isFussy && message.toString().startsWith(BAD)) {
                throw new IllegalStateException(name);
            }
        }
    }

    private final List<Throwable> caught = new ArrayList<>();
    private EmbeddedChannel channel;

    private void pipeline(DirectlyLinkedStageHandler... stages) {
        channel = new EmbeddedChannel();
        for (int i = 0; i < stages.length; i++) {
            if (i > 0) {
                DirectlyLinkedStageHandler.join(stages[i - 1], stages[i]);
            }
            channel.pipeline().addLast(stages[i]);
        }
        channel.pipeline()
                .addLast(
                        new ChannelInboundHandlerAdapter() {
                            @Override
                            public void exceptionCaught(ChannelHandlerContext ctx, Throwable t) {
                                caught.add(t);
                            }
                        });
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void messagesPassEachStageOnce() {
        pipeline(new Named("1", false), new Named("2", false), new Named("3", false));
        channel.writeInbound("in");
        channel.writeOutbound("out");
        assertThat(channel.<String>readInbound()).isEqualTo("in123");
        assertThat(channel.<String>readOutbound()).isEqualTo("out321");
    }

    @Test
    void whoLeavesIsPassedBy() {
        Named second = new Named("2", false);
        pipeline(new Named("1", false), second, new Named("3", false));
        second.leave();
        channel.writeInbound("in");
        channel.writeOutbound("out");
        assertThat(channel.<String>readInbound()).isEqualTo("in13");
        assertThat(channel.<String>readOutbound()).isEqualTo("out31");
    }

    /** The pipeline of a closed channel is emptied from one end to the other. */
    @Test
    void whoWasRemovedIsPassedBy() {
        Named second = new Named("2", false);
        pipeline(new Named("1", false), second, new Named("3", false));
        channel.pipeline().remove(second);
        channel.writeInbound("in");
        channel.writeOutbound("out");
        assertThat(channel.<String>readInbound()).isEqualTo("in13");
        assertThat(channel.<String>readOutbound()).isEqualTo("out31");
    }

    /** Whoever gives a message away owns it no more, so nothing that fails behind it may reach it. */
    @Test
    void aFailureOfTheNextStageIsTheUsers() {
        List<String> seen = new ArrayList<>();
        DirectlyLinkedStageHandler first =
                new DirectlyLinkedStageHandler() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        toUser(message);
                        seen.add("went on");
                    }
                };
        pipeline(first, new Named("2", true));
        channel.writeInbound(BAD);
        assertThat(seen).containsExactly("went on");
        assertThat(caught).singleElement().isInstanceOf(IllegalStateException.class);
        assertThat(caught.get(0)).hasMessage("2");
    }

    @Test
    @Proves("V1-ERR-21")
    void aCallThatNobodyCanAnswerAnyMoreEndsTheConnection() {
        DirectlyLinkedStageHandler failing =
                new DirectlyLinkedStageHandler() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        throw new LinkageError("thrown");
                    }
                };
        pipeline(
                new Named("1", false) {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        toUser(message);
                    }
                },
                failing);
        channel.writeInbound("a reply");
        assertThat(channel.isOpen()).isTrue();
        channel.writeInbound(new InboundCallState());
        assertThat(caught).hasSize(2);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void aFailureOfTheNextStageFailsTheWrite() {
        pipeline(new Named("1", true), new Named("2", false));
        ChannelFuture written = channel.writeAndFlush(BAD);
        assertThat(written.cause()).isInstanceOf(IllegalStateException.class).hasMessage("1");
        assertThat(channel.<String>readOutbound()).isNull();
    }
}
