// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/**
 * Bounds the time of each property: jqwik has no limit, and that of JUnit Jupiter is for its own tests only. A property
 * has to stay on its thread, so one that takes too long is interrupted; if that does not end it, the test JVM ends.
 * Before it, all threads are shown.
 *
 * <p>Registered as a service, for each module that has it on its class path.
 */
public final class PropertyTimeLimit implements AroundPropertyHook {

    /** As the pom says for Jupiter. */
    private static final long SECONDS = 120;

    private static final int INTERRUPTS = 300;

    private static final long INTERRUPT_MILLIS = 100;

    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public int aroundPropertyProximity() {
        // Around everything else.
        return -100;
    }

    @Override
    public PropertyExecutionResult aroundProperty(
            PropertyLifecycleContext context, PropertyExecutor property) throws Throwable {
        CountDownLatch done = new CountDownLatch(1);
        AtomicBoolean tooLong = new AtomicBoolean();
        Thread runner = Thread.currentThread();
        String name = context.label();
        Thread guard = new Thread(() -> guard(name, runner, done, tooLong), "limit of " + name);
        guard.setDaemon(true);
        guard.start();
        PropertyExecutionResult result;
        try {
            result = property.execute();
        } finally {
            done.countDown();
            guard.join();
        }
        if (!tooLong.get()) {
            return result;
        }
        Thread.interrupted(); // it was for the property
        return result.mapToFailed("Property ran for more than " + SECONDS + " s");
    }

    private static void guard(
            String name, Thread runner, CountDownLatch done, AtomicBoolean tooLong) {
        try {
            if (done.await(SECONDS, TimeUnit.SECONDS)) {
                return;
            }
            tooLong.set(true);
            System.err.println("Property " + name + " runs for more than " + SECONDS + " s");
            Thread.getAllStackTraces()
                    .forEach(
                            (thread, frames) -> {
                                System.err.println(thread);
                                for (StackTraceElement frame : frames) {
                                    System.err.println("\tat " + frame);
                                }
                            });
            // Again and again, because shrinking tries what has blocked some more times.
            for (int i = 0; i < INTERRUPTS; i++) {
                runner.interrupt();
                if (done.await(INTERRUPT_MILLIS, TimeUnit.MILLISECONDS)) {
                    return;
                }
            }
            Runtime.getRuntime().halt(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
