// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A close that waits for posted work. */
class ConnectionEndStateTest {

    private static final int NO_TASK = -1;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ConnectionEndState end = new ConnectionEndState();
    private final List<String> closed = new ArrayList<>();

    private void drain(int millis) {
        end.draining(channel.eventLoop(), millis).execute(() -> closed.add("closed"));
    }

    /** The timer would hold the channel until the time is over, whatever that is. */
    @Test
    void aCloseThatIsOverLeavesNoTimer() {
        drain(Integer.MAX_VALUE);
        assertThat(end.draining).isNotNull();
        assertThat(channel.runScheduledPendingTasks()).isPositive();
        end.cut();
        assertThat(end.draining).isNull();
        assertThat(channel.runScheduledPendingTasks()).isEqualTo(NO_TASK);
        end.cut();
        assertThat(closed).containsExactly("closed");
    }

    @Test
    void theTimerCutsACloseThatWaits() {
        drain(0);
        channel.runScheduledPendingTasks();
        assertThat(closed).containsExactly("closed");
        assertThat(channel.runScheduledPendingTasks()).isEqualTo(NO_TASK);
    }
}
