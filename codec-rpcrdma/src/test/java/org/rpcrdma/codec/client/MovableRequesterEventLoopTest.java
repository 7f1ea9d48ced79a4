// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.DefaultEventLoop;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tasks from other threads while the calls of a requester move to another event loop. */
class MovableRequesterEventLoopTest {

    private final DefaultEventLoop next = new DefaultEventLoop();
    private MovableRequesterEventLoop calls;

    /** The event loop that the calls leave: it takes no task any more, as while it shuts down. */
    private final DefaultEventLoop left =
            new DefaultEventLoop() {
                @Override
                public void execute(Runnable task) {
                    if (calls.current() == this && isMoving) {
                        calls.moveTo(next);
                    }
                    throw new RejectedExecutionException("it shuts down");
                }
            };

    private boolean isMoving;

    @AfterEach
    void end() {
        left.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
        next.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    @Test
    void aTaskThatIsRefusedWhileTheCallsMoveRunsWhereTheyAre() throws Exception {
        isMoving = true;
        calls = new MovableRequesterEventLoop(left, () -> {});
        CountDownLatch isRun = new CountDownLatch(1);
        assertThat(calls.execute(isRun::countDown)).isTrue();
        assertThat(isRun.await(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aTaskThatIsRefusedIsTriedOnceOnEachEventLoop() {
        calls = new MovableRequesterEventLoop(left, () -> {});
        assertThat(calls.execute(() -> {})).isFalse();
    }
}
