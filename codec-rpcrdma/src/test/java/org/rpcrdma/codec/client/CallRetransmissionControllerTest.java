// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.channel.DefaultEventLoop;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RpcFuture;

/** Calls that are submitted while they leave an event loop that is shutting down. */
class CallRetransmissionControllerTest {

    /** Runs its tasks when it is told to; shut down it takes none, and runs those that it has. */
    private static final class ManualEventLoop extends DefaultEventLoop {
        private final Queue<Runnable> tasks = new ArrayDeque<>();
        private final Promise<Void> termination =
                new DefaultPromise<>(ImmediateEventExecutor.INSTANCE);
        private boolean isShutdown;
        private boolean isRunning;

        @Override
        public void execute(Runnable task) {
            if (isShutdown) {
                throw new RejectedExecutionException("it shuts down");
            }
            tasks.add(task);
        }

        void runTasks() {
            isRunning = true;
            for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                task.run();
            }
            isRunning = false;
        }

        void terminate() {
            isShutdown = true;
            runTasks();
            termination.setSuccess(null);
        }

        @Override
        public boolean inEventLoop(Thread thread) {
            return isRunning;
        }

        @Override
        public boolean isTerminated() {
            return termination.isDone();
        }

        @Override
        public Future<?> terminationFuture() {
            return termination;
        }
    }

    /** Has no channel. */
    private final class Owner implements CallRetransmissionController.Owner {
        private int waiting;
        private String end;

        @Override
        public void callWaits() {
            waiting++;
        }

        @Override
        public void firstSent(CallWithReplyFuture<?> call) {}

        @Override
        public void wake(long now) {}

        @Override
        public void callEnded() {}

        @Override
        public void silent() {}

        @Override
        public String end() {
            return end;
        }

        @Override
        public Throwable lastFailure() {
            return null;
        }

        @Override
        public void terminated() {
            end = "the event loop has ended";
            calls.end();
        }
    }

    private final ManualEventLoop left = new ManualEventLoop();
    private final ManualEventLoop next = new ManualEventLoop();
    private final Owner owner = new Owner();
    private final CallRetransmissionController calls =
            new CallRetransmissionController(
                    owner,
                    new DefaultCallSettings(
                            RpcRdmaConfig.defaults(),
                            new RpcRdmaMetrics(),
                            RequesterClockAndTimers.SYSTEM,
                            60_000,
                            0,
                            0,
                            false),
                    left,
                    0,
                    0);

    private RpcFuture<ByteBuf> submit() {
        return calls.intake()
                .submitMarshalled(xid -> null, CallOptions.DEFAULT, (ByteBuf reply) -> reply);
    }

    /** The end of the event loop that they have left is not theirs. */
    @Test
    void aCallThatAnEventLoopRefusesIsStartedWhereTheCallsMove() {
        calls.moveTo(next, () -> {});
        left.isShutdown = true;
        RpcFuture<ByteBuf> call = submit();
        left.terminate();
        next.runTasks();
        assertThat(owner.waiting).isEqualTo(1);
        assertThat(owner.end).isNull();
        assertThat(call.isDone()).isFalse();
        next.terminate();
        assertThat(call.cause()).isInstanceOf(ConnectionLostException.class);
    }

    @Test
    void aCallThatBothEventLoopsRefuseFailsWithTheSecond() {
        calls.moveTo(next, () -> {});
        left.isShutdown = true;
        next.isShutdown = true;
        RpcFuture<ByteBuf> call = submit();
        left.terminate();
        assertThat(call.isDone()).isFalse();
        next.terminate();
        assertThat(call.cause()).isInstanceOf(ConnectionLostException.class);
    }
}
