// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThatCode;

import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class ListenerProblemsTest {

    @Test
    void aProblemDoesNotReachTheTailOfThePipeline() {
        EmbeddedChannel channel = new EmbeddedChannel(new ListenerProblems());
        channel.pipeline().fireExceptionCaught(new IOException("The RDMA device is gone"));
        assertThatCode(channel::checkException).doesNotThrowAnyException();
        channel.finishAndReleaseAll();
    }
}
