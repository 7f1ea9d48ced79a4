// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * Events for JDK Flight Recorder. A disabled event costs the read of a flag. No events on a runtime without the module
 * {@code jdk.jfr}.
 */
final class TransportFlightEvents {

    private static final String CATEGORY = "RDMA";

    private static final boolean IS_THERE = isThere();

    private TransportFlightEvents() {}

    private static boolean isThere() {
        try {
            Class.forName("jdk.jfr.Event", false, null);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /**
     * Whether anyone has begun to record. Before that no event is made: the first one would initialize the recorder,
     * which is more work than all else up to the first call.
     */
    private static boolean isOn() {
        return IS_THERE && FlightRecorder.isInitialized();
    }

    @Name("rdma.Stall")
    @Label("RDMA Event Loop Stall")
    @Description("A round of an event loop took so long that all of its channels had to wait")
    @Category(CATEGORY)
    @StackTrace(false)
    static final class Stall extends Event {
        @Label("Time of I/O and Handlers")
        @Timespan(Timespan.NANOSECONDS)
        long io;

        @Label("Time of Tasks")
        @Timespan(Timespan.NANOSECONDS)
        long tasks;
    }

    @Name("rdma.MemoryRefused")
    @Label("RDMA Memory Refused")
    @Description("There was no registered memory for a buffer, or the device did not take it")
    @Category(CATEGORY)
    static final class MemoryRefused extends Event {
        @Label("Size")
        @DataAmount
        long size;

        @Label("Why")
        String why;
    }

    static void stall(long ioNanos, long taskNanos) {
        if (!isOn()) {
            return;
        }
        Stall event = new Stall();
        if (event.isEnabled()) {
            event.io = ioNanos;
            event.tasks = taskNanos;
            event.commit();
        }
    }

    static void memoryRefused(long size, String why) {
        if (!isOn()) {
            return;
        }
        MemoryRefused event = new MemoryRefused();
        if (event.isEnabled()) {
            event.size = size;
            event.why = why;
            event.commit();
        }
    }
}
