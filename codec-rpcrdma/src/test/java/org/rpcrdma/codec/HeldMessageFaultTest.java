// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;

/** What waits for memory, and fails when there is some, ends its connection: nothing else would answer it. */
class HeldMessageFaultTest {

    private static void fail() {
        throw new IllegalStateException("of the test");
    }

    @Test
    void aMessageThatIsNotPulled() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            InboundPullMemoryBudget pulls = pair.serverConnection().responder().pulls();
            RpcPair.on(
                    pair.serverChannel,
                    () -> {
                        pulls.hold(pulls.of(1, true), HeldMessageFaultTest::fail);
                        pulls.hold(pulls.of(2, true), HeldMessageFaultTest::fail);
                        pulls.recycle(pulls.of(3, true));
                        return null;
                    });
            assertThat(pair.server.awaitInactive()).isTrue();
            assertThat(pair.client.awaitInactive()).isTrue();
        }
    }

    // Replies in Read chunks are announced by the private data of both ends.
    @Test
    @NeedsDevice("privateDataOnAccept")
    void aReplyThatIsNotSent() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            OutboundRepliesAwaitingPullCompletion replies =
                    pair.serverConnection().responder().waiting();
            RpcPair.on(
                    pair.serverChannel,
                    () -> {
                        replies.add(replies.prepare(3));
                        replies.hold(
                                1, HeldMessageFaultTest::fail, pair.serverChannel.newPromise());
                        replies.hold(
                                1, HeldMessageFaultTest::fail, pair.serverChannel.newPromise());
                        return replies.tryComplete(3);
                    });
            assertThat(pair.server.awaitInactive()).isTrue();
            assertThat(pair.client.awaitInactive()).isTrue();
        }
    }
}
