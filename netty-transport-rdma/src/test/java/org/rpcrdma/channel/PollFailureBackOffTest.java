// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** The clock goes on between any two looks at it. */
class PollFailureBackOffTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final List<Long> limits = new ArrayList<>();
    private long now;

    private final EventLoopVerbsContext context =
            (EventLoopVerbsContext)
                    Proxy.newProxyInstance(
                            EventLoopVerbsContext.class.getClassLoader(),
                            new Class<?>[] {EventLoopVerbsContext.class},
                            (proxy, method, arguments) -> {
                                if (method.getName().equals("await")) {
                                    limits.add((Long) arguments[0]);
                                }
                                return now;
                            });

    private PollFailureBackOff paused() {
        PollFailureBackOff pause = new PollFailureBackOff(context);
        for (int i = 0; i < 4; i++) {
            pause.roundFailed();
        }
        assertThat(pause.isOn()).isTrue();
        return pause;
    }

    /** For a device a negative time is one without limit. */
    @Test
    void aPauseThatHasEndedSinceIsNotWaitedForWithoutLimit() {
        PollFailureBackOff pause = paused();
        now = SECOND + 1;
        pause.await(now, SECOND, () -> false);
        assertThat(limits).containsExactly(0L);
        assertThat(pause.isOn()).isFalse();
    }

    @Test
    void itLastsNoLongerThanItsEndOrTheLimit() {
        PollFailureBackOff pause = paused();
        now = SECOND - 5;
        pause.await(now, SECOND, () -> true);
        pause.await(now, 3, () -> true);
        assertThat(limits).containsExactly(5L, 3L);
    }
}
