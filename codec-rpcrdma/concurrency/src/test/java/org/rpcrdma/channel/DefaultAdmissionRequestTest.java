// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Stub;
import org.rpcrdma.verbs.ConnectionRequest;

/**
 * A policy on another thread that asks to be told of the end of a connection while it ends. Found: a policy that was
 * called inside of the end, because nobody had asked just before.
 */
class DefaultAdmissionRequestTest {

    @Test
    void aPolicyIsToldOnceAndNeverInsideTheEnd() {
        explore(
                () -> {
                    List<Runnable> tasks = new ArrayList<>();
                    DefaultAdmissionRequest request =
                            new DefaultAdmissionRequest(
                                    Stub.of(ConnectionRequest.class, method -> null), tasks::add);
                    AtomicInteger told = new AtomicInteger();
                    AtomicInteger inside = new AtomicInteger();
                    Thread[] loop = new Thread[1];
                    inThreads(
                            () ->
                                    request.ended()
                                            .whenComplete(
                                                    (nothing, failure) -> {
                                                        told.incrementAndGet();
                                                        if (Thread.currentThread() == loop[0]) {
                                                            inside.incrementAndGet();
                                                        }
                                                    }),
                            () -> {
                                loop[0] = Thread.currentThread();
                                request.end();
                                loop[0] = null;
                            });
                    tasks.forEach(Runnable::run);
                    check(told.get() == 1, "told " + told.get() + " times");
                    check(inside.get() == 0, "a policy is called inside of the end");
                });
    }
}
