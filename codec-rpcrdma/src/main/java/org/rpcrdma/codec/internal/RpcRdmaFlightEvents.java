// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.channel.Channel;
import java.util.Locale;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
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
public final class RpcRdmaFlightEvents {

    private static final String CATEGORY = "RPC-over-RDMA";

    private static final boolean IS_THERE = isThere();

    private RpcRdmaFlightEvents() {}

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

    @Name("rpcrdma.Call")
    @Label("RPC-over-RDMA Call")
    @Description("An answered call; off unless it is turned on")
    @Category(CATEGORY)
    @Enabled(false)
    @StackTrace(false)
    static final class Call extends Event {
        @Label("Role")
        String role;

        @Label("Procedure")
        String procedure;

        @Label("Outcome")
        String outcome;

        @Label("Elapsed")
        @Timespan(Timespan.NANOSECONDS)
        long elapsed;
    }

    @Name("rpcrdma.CreditWait")
    @Label("RPC-over-RDMA Credit Wait")
    @Description("A call has waited for a credit; off unless it is turned on")
    @Category(CATEGORY)
    @Enabled(false)
    @StackTrace(false)
    static final class CreditWait extends Event {
        @Label("Elapsed")
        @Timespan(Timespan.NANOSECONDS)
        long elapsed;
    }

    @Name("rpcrdma.Connect")
    @Label("RPC-over-RDMA Connect")
    @Description("An attempt of a client to connect is over")
    @Category(CATEGORY)
    @StackTrace(false)
    static final class Connect extends Event {
        @Label("Responder")
        String responder;

        @Label("Connected")
        boolean connected;

        @Label("Elapsed")
        @Timespan(Timespan.NANOSECONDS)
        long elapsed;
    }

    @Name("rpcrdma.Drop")
    @Label("RPC-over-RDMA Drop")
    @Description("A message of a peer was dropped")
    @Category(CATEGORY)
    @StackTrace(false)
    static final class Drop extends Event {
        @Label("Connection")
        String connection;

        @Label("Reason")
        String reason;

        @Label("Text")
        String text;
    }

    @Name("rpcrdma.Close")
    @Label("RPC-over-RDMA Close")
    @Description(
            "A connection is closed from here because of what its peer has done, or of a failure")
    @Category(CATEGORY)
    @StackTrace(false)
    static final class Close extends Event {
        @Label("Connection")
        String connection;

        @Label("Why")
        String why;
    }

    @Name("rpcrdma.NoMemory")
    @Label("RPC-over-RDMA No Memory")
    @Description("There was no memory for a message that was to be pulled")
    @Category(CATEGORY)
    @StackTrace(false)
    static final class NoMemory extends Event {
        @Label("Connection")
        String connection;

        @Label("Size")
        @DataAmount
        long size;

        @Label("Why")
        String why;
    }

    /** Asked for each call: whether an event is on is no matter of an instance, and these are never committed. */
    private static final class Asked {
        static final Call CALL = new Call();
        static final CreditWait CREDIT_WAIT = new CreditWait();

        private Asked() {}
    }

    /** Whether times of calls are recorded. */
    public static boolean areCallsOn() {
        return IS_THERE
                && FlightRecorder.isInitialized()
                && (Asked.CALL.isEnabled() || Asked.CREDIT_WAIT.isEnabled());
    }

    public static void call(Enum<?> role, String procedure, Enum<?> outcome, long nanos) {
        if (!isOn()) {
            return;
        }
        Call event = new Call();
        if (event.isEnabled()) {
            event.role = nameOf(role);
            event.procedure = procedure;
            event.outcome = nameOf(outcome);
            event.elapsed = nanos;
            event.commit();
        }
    }

    public static void creditWait(long nanos) {
        if (!isOn()) {
            return;
        }
        CreditWait event = new CreditWait();
        if (event.isEnabled()) {
            event.elapsed = nanos;
            event.commit();
        }
    }

    public static void connect(Object responder, boolean isConnected, long nanos) {
        if (!isOn()) {
            return;
        }
        Connect event = new Connect();
        if (event.isEnabled()) {
            event.responder = responder.toString();
            event.connected = isConnected;
            event.elapsed = nanos;
            event.commit();
        }
    }

    public static void drop(Channel channel, Enum<?> reason, String text) {
        if (!isOn()) {
            return;
        }
        Drop event = new Drop();
        if (event.isEnabled()) {
            event.connection = channel.toString();
            event.reason = nameOf(reason);
            event.text = text;
            event.commit();
        }
    }

    public static void close(Channel channel, String why) {
        if (!isOn()) {
            return;
        }
        Close event = new Close();
        if (event.isEnabled()) {
            event.connection = channel.toString();
            event.why = why;
            event.commit();
        }
    }

    public static void noMemory(Channel channel, long size, String why) {
        if (!isOn()) {
            return;
        }
        NoMemory event = new NoMemory();
        if (event.isEnabled()) {
            event.connection = channel.toString();
            event.size = size;
            event.why = why;
            event.commit();
        }
    }

    private static String nameOf(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
