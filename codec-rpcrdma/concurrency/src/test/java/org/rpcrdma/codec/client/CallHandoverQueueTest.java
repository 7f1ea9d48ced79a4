// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.rpc.CallOptions;

/**
 * Calls of two threads, while the event loop starts calls, and while it ends. Found: the flag cleared behind
 * the poll.
 */
class CallHandoverQueueTest {

    private static final DefaultCallSettings SETTINGS =
            new DefaultCallSettings(null, null, new FixedClock(), 1000, 0, 0, false);

    /** Starts calls by noting them. */
    private static final class Started implements CallHandoverQueue.Starter {
        final ModelEventLoop loop = new ModelEventLoop();
        final List<CallWithReplyFuture<?>> calls = new ArrayList<>();
        final CallHandoverQueue queue;
        int unflushed;

        Started() {
            queue =
                    new CallHandoverQueue(
                            this, SETTINGS, new MovableRequesterEventLoop(loop, this::terminated));
        }

        /** As the owner of calls does: whoever comes ends them. */
        private synchronized void terminated() {
            queue.startSubmitted();
            unflushed = 0;
        }

        @Override
        public void start(CallWithReplyFuture<?> call) {
            calls.add(call);
            unflushed++;
        }

        @Override
        public void flush() {
            unflushed = 0;
        }

        @Override
        public EventLoop loop() {
            return loop;
        }

        @Override
        public void cancelled(CallWithReplyFuture<?> call) {}

        @Override
        public void writeFailed(CallWithReplyFuture<?> call, Throwable cause) {}

        void submit() {
            queue.submitMarshalled(xid -> null, CallOptions.DEFAULT, (ByteBuf reply) -> reply);
        }
    }

    @Test
    void noCallStaysBehind() {
        explore(
                () -> {
                    Started started = new Started();
                    started.submit();
                    inThreads(started.loop::runTasks, started::submit, started::submit);
                    started.loop.runTasks();
                    check(started.calls.size() == 3, started.calls.size() + " of 3 calls");
                    check(started.unflushed == 0, "calls without a flush");
                    check(started.queue.outstanding() == 3, "not 3 calls outstanding");
                });
    }

    @Test
    void noCallIsLostWithTheEventLoop() {
        explore(
                () -> {
                    Started started = new Started();
                    inThreads(started.loop::terminate, started::submit, started::submit);
                    check(started.calls.size() == 2, started.calls.size() + " of 2 calls");
                });
    }
}
