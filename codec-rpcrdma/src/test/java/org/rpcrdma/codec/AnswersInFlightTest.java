// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

/** A peer that reads nothing has a bounded number of answers. */
class AnswersInFlightTest {

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final AnswersInFlight answers = new AnswersInFlight();
    private final Deque<ChannelPromise> inFlight = new ArrayDeque<>();

    private void answer(int times) {
        for (int i = 0; i < times; i++) {
            ChannelPromise promise = channel.newPromise();
            promise.addListener(answers.add());
            inFlight.add(promise);
        }
    }

    @Test
    @Proves("SEC-15")
    void thereIsRoomForTheLimit() {
        answer(AnswersInFlight.LEAST_LIMIT - 1);
        assertThat(answers.hasRoom(0)).isTrue();
        answer(1);
        assertThat(answers.hasRoom(0)).isFalse();
    }

    @Test
    void creditsBeyondTheLimitMakeRoom() {
        answer(AnswersInFlight.LEAST_LIMIT);
        assertThat(answers.hasRoom(AnswersInFlight.LEAST_LIMIT + 1)).isTrue();
        answer(1);
        assertThat(answers.hasRoom(AnswersInFlight.LEAST_LIMIT + 1)).isFalse();
    }

    @Test
    void whatIsSentOrFailsMakesRoom() {
        answer(AnswersInFlight.LEAST_LIMIT);
        inFlight.remove().setSuccess();
        assertThat(answers.hasRoom(0)).isTrue();
        answer(1);
        inFlight.remove().setFailure(new IllegalStateException());
        assertThat(answers.hasRoom(0)).isTrue();
    }
}
