// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Stub;

/**
 * Two threads that answer a call at the same time, or of which one executes it, and the other one has lost its
 * connection. Found: an answer that is looked for, and then noted.
 */
class RpcServerCallTest {

    private static final ByteBuf XID = Unpooled.wrappedBuffer(new byte[4]);

    /** A message of which releases are counted. */
    private static ReferenceCounted message(AtomicInteger releases) {
        return Stub.of(ReferenceCounted.class, release -> releases.incrementAndGet() > 0);
    }

    /** A channel whose event loop is another thread, and counts its tasks: to write, or to tell of a dropped call. */
    private static Channel channel(AtomicInteger tasks) {
        EventLoop loop =
                Stub.of(
                        EventLoop.class,
                        method ->
                                switch (method) {
                                    case "inEventLoop" -> false;
                                    case "execute" -> tasks.incrementAndGet();
                                    default -> throw new AssertionError(method);
                                });
        ChannelPipeline withoutLimit = Stub.of(ChannelPipeline.class, get -> null);
        return Stub.of(Channel.class, method -> method.equals("eventLoop") ? loop : withoutLimit);
    }

    /** A channel that is closed, with an empty pipeline. */
    private static Channel lost() {
        ChannelPipeline empty = Stub.of(ChannelPipeline.class, firstOrGet -> null);
        EventLoop loop = Stub.of(EventLoop.class, inEventLoop -> true);
        return Stub.of(
                Channel.class,
                method ->
                        switch (method) {
                            case "isOpen" -> (Object) false;
                            case "eventLoop" -> loop;
                            default -> empty;
                        });
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
                    AtomicInteger tasks = new AtomicInteger();
                    AtomicInteger drops = new AtomicInteger();
                    AtomicInteger answers = new AtomicInteger();
                    RpcServerCall call = new RpcServerCall(channel(tasks), message(calls), XID);
                    ReferenceCounted reply = message(replies);
                    inThreads(
                            () -> answer(call::drop, drops),
                            () -> answer(() -> call.replyWhole(reply), answers));
                    int ends = drops.get() + answers.get();
                    check(ends == 1, "the call has ended " + ends + " times");
                    check(calls.get() == 1, "the call was released " + calls.get() + " times");
                    check(tasks.get() == 1, "the event loop is told " + tasks.get() + " times");
                    check(replies.get() == drops.get(), "a reply is lost, or released twice");
                });
    }

    @Test
    void aCallOfALostConnectionIsExecutedOrDropped() {
        explore(
                () -> {
                    AtomicInteger calls = new AtomicInteger();
                    RpcServerCall call = new RpcServerCall(lost(), message(calls), XID);
                    QueuedCalls queue = new QueuedCalls();
                    QueuedCalls.QueuedCall queued = queue.add(call);
                    inThreads(
                            queue::dropUnawaited,
                            () -> {
                                if (queued.take() != null) {
                                    check(calls.get() == 0, "executed without its message");
                                    call.drop();
                                }
                            });
                    check(calls.get() == 1, "the call was released " + calls.get() + " times");
                });
    }
}
