// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;

/** The meters of event loops, their memory and their devices. */
final class RdmaMeters extends MeterTable<RdmaEventLoopGroup> {

    /** The parts of {@link RdmaCounter#COMPLETIONS_FAILED}. */
    private static final Set<RdmaCounter> FAILURES =
            EnumSet.range(RdmaCounter.FAILED_LOCAL_LENGTH, RdmaCounter.FAILED_OTHER);

    private static final double NANOS = 1e9;

    static final RdmaMeters TABLE = new RdmaMeters();

    private RdmaMeters() {
        loops();
        memory();
        receives();
        device();
    }

    private void loops() {
        gauges("rdma.channels", "channels", "Connections and listeners that are open");
        row(Tags.empty(), RdmaEventLoopGroup::registeredChannels, "", "");
        counters("rdma.loop.rounds", "rounds", "Rounds of event loops: a poll, then tasks");
        add(RdmaCounter.ROUNDS);
        counters("rdma.loop.rounds.busy", "rounds", "Rounds that found something to do");
        add(RdmaCounter.ROUNDS_WITH_WORK);
        counters(
                "rdma.loop.work",
                "events",
                "Completions and events that polls have delivered, or bytes that they have moved");
        add(RdmaCounter.WORK);
        counters("rdma.loop.sleeps", "sleeps", "Times a loop has blocked, with nothing to do");
        add(RdmaCounter.SLEEPS);
        counters(
                "rdma.loop.time",
                "seconds",
                "Time of the rounds that found something to do: in I/O, handlers included, and in"
                        + " tasks");
        time(RdmaCounter.IO_NANOS, "io");
        time(RdmaCounter.TASK_NANOS, "tasks");
        counters(
                "rdma.loop.stalls",
                "rounds",
                "Rounds that took longer than "
                        + RdmaEventLoopGroup.STALL_MILLIS
                        + " ms: a handler or task has blocked all channels of the loop");
        add(RdmaCounter.STALLS);
        counters("rdma.loop.failures", "rounds", "Rounds that failed by an exception");
        add(RdmaCounter.FAILED_ROUNDS);
    }

    private void time(RdmaCounter counter, String part) {
        row(tag("part", part), group -> group.value(counter) / NANOS, "", "");
    }

    private void memory() {
        gauges("rdma.memory.registered", "bytes", "Registered memory of the loops, lent or not");
        row(Tags.empty(), RdmaEventLoopGroup::registeredBytes, "", "");
        gauges(
                "rdma.memory.used",
                "bytes",
                "Registered memory that is lent: posted as receives, in messages, under way");
        row(Tags.empty(), RdmaEventLoopGroup::registeredBytesInUse, "", "");
        gauges(
                "rdma.memory.limit",
                "bytes",
                "What all event loops of the JVM may register together; it is added up over groups,"
                        + " so look at its maximum");
        row(Tags.empty(), group -> RdmaChannel.registeredBytesLimit(), "", "");
        counters("rdma.memory.refusals", "buffers", "Buffers that there was no memory for");
        add(RdmaCounter.MEMORY_REFUSALS);
        counters(
                "rdma.memory.registrations",
                "registrations",
                "Registrations of memory with the device: pooled memory, large buffers that are"
                        + " sent from where they are, and exposed ranges where the device exposes"
                        + " no parts of a registration");
        add(RdmaCounter.REGISTRATIONS, "rdma: mrs_allocated", "");
    }

    private void receives() {
        gauges(
                "rdma.receives.posted",
                "receives",
                "Receives posted on channels of messages, to a batch of a few for each channel");
        row(Tags.empty(), RdmaEventLoopGroup::postedReceives, "", "");
        counters(
                "rdma.receives.low",
                "times",
                "Times the receives of a channel of messages fell to a quarter of those that are"
                        + " kept posted: the peer sends in bursts, or the pipeline does not read");
        add(RdmaCounter.RECEIVES_LOW, "", "rdma_stat_rq_starve");
        counters(
                "rdma.reads.stalled",
                "connections",
                "Connections that ended because the peer did not answer an RDMA Read in time");
        add(RdmaCounter.READS_STALLED);
    }

    private void device() {
        counters(
                "rdma.device.traffic",
                "bytes",
                "Bytes on connections, as far as the device sees them");
        add(RdmaCounter.BYTES_IN, tag("direction", "in"));
        add(RdmaCounter.BYTES_OUT, tag("direction", "out"));
        counters("rdma.device.fpdus", "fpdus", "FPDUs of iWARP");
        add(RdmaCounter.FPDUS_IN, tag("direction", "in"));
        add(RdmaCounter.FPDUS_OUT, tag("direction", "out"));
        counters("rdma.device.connections.opened", "connections", "Connections that were made");
        add(RdmaCounter.CONNECTIONS_OPENED);
        counters(
                "rdma.device.connections.shared",
                "connections",
                "Connections that shared memory carries, of those that were made");
        add(RdmaCounter.CONNECTIONS_SHARED);
        counters("rdma.device.connections.ended", "connections", "Connections that have ended");
        add(RdmaCounter.CONNECTIONS_ENDED);
        counters(
                "rdma.device.connections.lost",
                "connections",
                "Connections that ended by an error of the network, or inside a message");
        add(RdmaCounter.CONNECTIONS_LOST);
        counters(
                "rdma.device.connections.stalled",
                "connections",
                "Connections that ended because the peer has begun an FPDU or a message and not"
                        + " gone on, of those lost");
        add(RdmaCounter.CONNECTIONS_STALLED);
        counters(
                "rdma.device.startups.failed",
                "connections",
                "Start-ups of iWARP that came to nothing");
        add(RdmaCounter.STARTUPS_REFUSED, tag("reason", "refused"));
        add(RdmaCounter.STARTUPS_TIMED_OUT, tag("reason", "timed_out"));
        counters(
                "rdma.device.terminates",
                "messages",
                "Terminate messages of iWARP: one ends a connection");
        add(RdmaCounter.TERMINATES_SENT, tag("direction", "out"));
        add(RdmaCounter.TERMINATES_RECEIVED, tag("direction", "in"));
        counters(
                "rdma.device.crc.errors",
                "fpdus",
                "FPDUs of iWARP whose CRC was wrong: one ends a connection");
        add(RdmaCounter.CRC_ERRORS);
        counters("rdma.device.receives.held", "messages", "Messages that had to wait for memory");
        add(RdmaCounter.RECEIVES_HELD);
        counters(
                "rdma.device.completions.failed",
                "completions",
                "Work requests that have failed, those that were only flushed not among them");
        for (RdmaCounter counter : FAILURES) {
            add(counter, tag("status", nameOf(counter).substring("failed_".length())));
        }
    }

    private void add(RdmaCounter counter, String client, String server) {
        row(Tags.empty(), group -> Math.max(0, group.value(counter)), client, server);
    }

    private void add(RdmaCounter counter) {
        add(counter, Tags.empty());
    }

    private void add(RdmaCounter counter, Tags tags) {
        // A device that does not count it has -1.
        row(tags, group -> Math.max(0, group.value(counter)), "", "");
    }
}
