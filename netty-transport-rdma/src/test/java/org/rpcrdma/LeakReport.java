// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import io.netty.buffer.Unpooled;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.TimeUnit;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestPlan;

/**
 * Collects garbage after the tests of a class, and has Netty report what leaked: it does so when the next buffer is
 * allocated, of those that were collected before. Otherwise a leak would be reported if the heap filled up in time.
 *
 * <p>Registered as a service. Surefire runs each class of a shared JVM as a plan of its own.
 */
public final class LeakReport implements TestExecutionListener {

    private static final long PATIENCE_SECONDS = 60;

    @Override
    public void testPlanExecutionFinished(TestPlan testPlan) {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Reference<Object> garbage = new PhantomReference<>(new Object(), queue);
        System.gc();
        try {
            // One that is queued after this is reported at the next class's first buffer.
            queue.remove(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            Reference.reachabilityFence(garbage);
        }
        Unpooled.directBuffer(1).release();
    }
}
