// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.rpcrdma.concurrency.Interleavings.check;
import static org.rpcrdma.concurrency.Interleavings.explore;
import static org.rpcrdma.concurrency.Interleavings.inThreads;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;

/**
 * A connection request that is answered by another thread while its listener ends. Found: an answer that is looked for
 * and then taken, which two threads may do.
 */
class IwarpConnectionRequestTest {

    private static final MpaStartupFrame REQUEST =
            new MpaStartupFrame(
                    true,
                    false,
                    true,
                    false,
                    false,
                    1,
                    false,
                    false,
                    false,
                    false,
                    0,
                    0,
                    new byte[0]);

    /** A request, and how often it was taken over. */
    private static final class Asked {
        final PendingConnectionRequests pending = new PendingConnectionRequests();
        final ModelSocketChannel socket = new ModelSocketChannel();
        final SocketPoller origin = new SocketPoller(new ModelSelector(), null);
        final AtomicInteger taken = new AtomicInteger();
        final IwarpConnectionRequest request;

        Asked() {
            try {
                request =
                        new IwarpConnectionRequest(
                                origin, IwarpConfig.defaults().mpa(), pending, socket, REQUEST);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            pending.add(request);
        }

        void take() {
            try {
                request.take(origin);
                taken.incrementAndGet();
            } catch (IOException e) {
                // It was answered before.
            }
        }

        void reject() {
            request.reject(new byte[0]);
        }

        void checkAnswer() {
            int refusals = socket.writes.get();
            check(
                    taken.get() + refusals == 1,
                    taken + " times taken, " + refusals + " times refused");
            check(socket.closes.get() == refusals, "closed " + socket.closes + " times");
            check(pending.size() == 0, "the listener still counts it");
        }
    }

    @Test
    void itIsAnsweredOnceThoughItsListenerEnds() {
        explore(
                () -> {
                    Asked asked = new Asked();
                    inThreads(asked::take, asked.pending::rejectAll);
                    asked.checkAnswer();
                });
    }

    @Test
    void twoAnswersAreOne() {
        explore(
                () -> {
                    Asked asked = new Asked();
                    inThreads(asked::take, asked::reject, asked::take);
                    asked.checkAnswer();
                });
    }
}
