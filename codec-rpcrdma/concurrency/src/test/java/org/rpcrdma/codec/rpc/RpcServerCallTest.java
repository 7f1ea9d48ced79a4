// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Stub;

/** Two threads that answer a call at the same time. Found: an answer that is looked for, and then noted. */
class RpcServerCallTest {

    /** A message of which releases are counted. */
    private static ReferenceCounted message(AtomicInteger releases) {
        return Stub.of(ReferenceCounted.class, release -> releases.incrementAndGet() > 0);
    }

    /** A channel whose event loop is another thread, and counts what it has to write. */
    private static Channel channel(AtomicInteger writes) {
        EventLoop loop =
                Stub.of(
                        EventLoop.class,
                        method ->
                                switch (method) {
                                    case "inEventLoop" -> false;
                                    case "execute" -> writes.incrementAndGet();
                                    default -> throw new AssertionError(method);
                                });
        return Stub.of(Channel.class, eventLoop -> loop);
    }

    private static void answer(Runnable how, AtomicInteger answers) {
        try {
            how.run();
            answers.incrementAndGet();
        } catch (IllegalStateException e) {
            // The other one was first.
        }
    }

    @Test
    void aCallIsAnsweredOnce() {
        explore(
                () -> {
                    AtomicInteger calls = new AtomicInteger();
                    AtomicInteger replies = new AtomicInteger();
                    AtomicInteger writes = new AtomicInteger();
                    AtomicInteger answers = new AtomicInteger();
                    RpcServerCall call =
                            new RpcServerCall(
                                    channel(writes), message(calls), Unpooled.EMPTY_BUFFER);
                    ReferenceCounted reply = message(replies);
                    inThreads(
                            () -> answer(call::drop, answers),
                            () -> answer(() -> call.replyWhole(reply), answers));
                    check(answers.get() == 1, answers.get() + " answers");
                    check(calls.get() == 1, "the call was released " + calls.get() + " times");
                    check(writes.get() + replies.get() == 1, "a reply is lost, or released twice");
                });
    }
}
