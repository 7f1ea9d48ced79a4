// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.EnumSet;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaEventLoopGroupStatistics;

/** The meters of event loops, their memory and their devices. */
final class RdmaMeterTable extends MeterTable<RdmaEventLoopGroupStatistics> {

    /** The parts of {@link RdmaCounter#COMPLETIONS_FAILED}. */
    private static final Set<RdmaCounter> FAILURES =
            EnumSet.range(RdmaCounter.FAILED_LOCAL_LENGTH, RdmaCounter.FAILED_OTHER);

    private static final double NANOS = 1e9;

    static final RdmaMeterTable TABLE = new RdmaMeterTable();

    private RdmaMeterTable() {
        loops();
        memory();
        receives();
        streams();
        admissions();
        device();
    }

    private void loops() {
        gauges("rdma.channels", "Open connections and listeners.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredChannels, "", "");
        counters(
                "rdma.loop.rounds",
                "Rounds of event loops. A round polls the device, then runs tasks.");
        add(RdmaCounter.ROUNDS);
        counters("rdma.loop.rounds.busy", "Rounds of event loops that found something to do.");
        add(RdmaCounter.ROUNDS_WITH_WORK);
        counters(
                "rdma.loop.work",
                "Completions and events that polls have delivered, or bytes that polls have "
                        + "moved.");
        add(RdmaCounter.WORK);
        counters("rdma.loop.sleeps", "Times that an idle event loop has blocked.");
        add(RdmaCounter.SLEEPS);
        secondCounters(
                "rdma.loop.time",
                "Time of the rounds that found something to do: in I/O, handlers included, "
                        + "and in tasks.");
        time(RdmaCounter.IO_NANOS, tag("part", "io"));
        time(RdmaCounter.TASK_NANOS, tag("part", "tasks"));
        counters(
                "rdma.loop.stalls",
                "Rounds of event loops that took longer than "
                        + RdmaEventLoopGroup.STALL_MILLIS
                        + " ms, because a handler or task blocked.");
        add(RdmaCounter.STALLS);
        counters("rdma.loop.failures", "Rounds of event loops that an exception has ended.");
        add(RdmaCounter.FAILED_ROUNDS);
    }

    private void time(RdmaCounter counter, Tags tags) {
        row(tags, group -> group.value(counter) / NANOS, "", "");
    }

    private void memory() {
        byteGauges(
                "rdma.memory.registered", "Registered memory of the event loops, in use or free.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredBytes, "", "");
        byteGauges(
                "rdma.memory.used",
                "Registered memory in use: posted receives, received messages, and sends in "
                        + "flight.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredBytesInUse, "", "");
        jvmByteGauge(
                "rdma.memory.limit",
                "Memory that all event loops of the JVM together may register.",
                RdmaChannel::registeredBytesLimit);
        counters(
                "rdma.memory.refusals",
                "Buffers that were refused because the limit of registered memory was "
                        + "reached.");
        add(RdmaCounter.MEMORY_REFUSALS);
        counters(
                "rdma.memory.registrations",
                "Registrations of memory with the device: pooled memory, large buffers that are"
                    + " sent in place, and exposed ranges where the device cannot expose a part of"
                    + " a registration.");
        add(RdmaCounter.REGISTRATIONS, "rdma: mrs_allocated", "");
    }

    private void receives() {
        gauges(
                "rdma.receives.posted",
                "Receives posted on channels of messages, accurate to one batch for each "
                        + "channel.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::postedReceives, "", "");
        counters(
                "rdma.receives.low",
                "Times that the posted receives of a channel of messages fell to a quarter of their"
                        + " target: the peer sends in bursts, or the pipeline does not read.");
        add(RdmaCounter.RECEIVES_LOW, "", "rdma_stat_rq_starve");
        counters(
                "rdma.reads.stalled",
                "Connections that ended because the peer did not answer an RDMA Read in time.");
        add(RdmaCounter.READS_STALLED);
    }

    private void streams() {
        gauges("rdma.streams", "Connected byte streams.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::openStreams, "", "");
        counters("rdma.streams.opened", "Byte streams that were connected.");
        add(RdmaCounter.STREAMS_OPENED);
        counters(
                "rdma.streams.closed",
                "Byte streams that have ended: orderly, reset by this end (SO_LINGER 0, a close"
                    + " that DRAIN_MILLIS has cut, or the peer has broken the protocol), or without"
                    + " the peer's last message.");
        add(RdmaCounter.STREAMS_CLOSED, tag("reason", "orderly"));
        add(RdmaCounter.STREAMS_RESET, tag("reason", "reset"));
        add(RdmaCounter.STREAMS_RESET_BY_PEER, tag("reason", "reset_by_peer"));
        gauges(
                "rdma.streams.halfclosed",
                "Byte streams of which one direction has ended: the output by this end, the input"
                        + " by the peer.");
        row(tag("direction", "out"), RdmaEventLoopGroupStatistics::streamsWithoutOutput, "", "");
        row(tag("direction", "in"), RdmaEventLoopGroupStatistics::streamsWithoutInput, "", "");
        gauges(
                "rdma.streams.waiting",
                "Byte streams whose flushed bytes wait for the peer now: for a credit, or for room"
                        + " in its receive buffer.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::waitingStreams, "", "");
        secondCounters(
                "rdma.stream.wait",
                "Time that byte streams with flushed bytes have waited for their peers, waits that"
                        + " go on included.");
        time(RdmaCounter.STREAM_WAIT_NANOS, Tags.empty());
        gauges(
                "rdma.stream.credits",
                "Credits that the peers of byte streams have left: DATA messages that may be sent"
                        + " now.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::streamCredits, "", "");
        byteCounters("rdma.stream.traffic", "Bytes of byte streams.");
        add(RdmaCounter.STREAM_BYTES_IN, tag("direction", "in"));
        add(RdmaCounter.STREAM_BYTES_OUT, tag("direction", "out"));
    }

    private void admissions() {
        counters(
                "rdma.admissions.refused",
                "Connection requests that a server channel has refused: rejected by the admission"
                        + " policy, not decided in time, or because the policy failed.");
        add(RdmaCounter.ADMISSIONS_REJECTED, tag("reason", "rejected"));
        add(RdmaCounter.ADMISSIONS_TIMED_OUT, tag("reason", "timed_out"));
        add(RdmaCounter.ADMISSIONS_FAILED, tag("reason", "failed"));
    }

    private void device() {
        byteCounters(
                "rdma.device.traffic",
                "Bytes that connections have transferred, as far as the device counts them.");
        add(RdmaCounter.BYTES_IN, tag("direction", "in"));
        add(RdmaCounter.BYTES_OUT, tag("direction", "out"));
        counters("rdma.device.fpdus", "FPDUs of iWARP.");
        add(RdmaCounter.FPDUS_IN, tag("direction", "in"));
        add(RdmaCounter.FPDUS_OUT, tag("direction", "out"));
        counters("rdma.device.connections.opened", "Connections that the device has established.");
        add(RdmaCounter.CONNECTIONS_OPENED);
        counters(
                "rdma.device.connections.shared",
                "Connections that the device has established in shared memory.");
        add(RdmaCounter.CONNECTIONS_SHARED);
        counters("rdma.device.connections.ended", "Connections of the device that have ended.");
        add(RdmaCounter.CONNECTIONS_ENDED);
        counters(
                "rdma.device.connections.lost",
                "Connections of the device that ended by an error of the network, or inside "
                        + "a message.");
        add(RdmaCounter.CONNECTIONS_LOST);
        counters(
                "rdma.device.connections.stalled",
                "Connections of the device that ended because the peer stopped inside an "
                        + "FPDU or a message. They count as lost, too.");
        add(RdmaCounter.CONNECTIONS_STALLED);
        counters("rdma.device.startups.failed", "Start-ups of iWARP connections that have failed.");
        add(RdmaCounter.STARTUPS_REFUSED, tag("reason", "refused"));
        add(RdmaCounter.STARTUPS_TIMED_OUT, tag("reason", "timed_out"));
        counters(
                "rdma.device.terminates",
                "Terminate messages of iWARP. Each one ends a connection.");
        add(RdmaCounter.TERMINATES_SENT, tag("direction", "out"));
        add(RdmaCounter.TERMINATES_RECEIVED, tag("direction", "in"));
        counters(
                "rdma.device.crc.errors",
                "FPDUs of iWARP with a wrong CRC. Each one ends a connection.");
        add(RdmaCounter.CRC_ERRORS);
        counters("rdma.device.receives.held", "Received messages that have waited for memory.");
        add(RdmaCounter.RECEIVES_HELD);
        counters(
                "rdma.device.completions.failed",
                "Work requests that have failed. Flushed work requests are not counted.");
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
