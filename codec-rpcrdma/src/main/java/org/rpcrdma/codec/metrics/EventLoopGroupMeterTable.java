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
final class EventLoopGroupMeterTable extends MeterTable<RdmaEventLoopGroupStatistics> {

    /** The parts of {@link RdmaCounter#COMPLETIONS_FAILED}. */
    private static final Set<RdmaCounter> FAILURES =
            EnumSet.range(RdmaCounter.FAILED_LOCAL_LENGTH, RdmaCounter.FAILED_OTHER);

    private static final double NANOS = 1e9;

    static final EventLoopGroupMeterTable TABLE = new EventLoopGroupMeterTable();

    private EventLoopGroupMeterTable() {
        loops();
        memory();
        receives();
        streams();
        admissions();
        device();
    }

    private void loops() {
        gauges("rdma.channels", "Shows how many connections and listeners are open.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredChannels, "", "");
        counters(
                "rdma.loop.rounds",
                "Counts the rounds of event loops. A round polls the device, then runs tasks.");
        add(RdmaCounter.ROUNDS);
        counters(
                "rdma.loop.rounds.busy",
                "Counts the rounds of event loops that found something to do.");
        add(RdmaCounter.ROUNDS_WITH_WORK);
        counters(
                "rdma.loop.work",
                "Counts the completions and events that polls have delivered, or the bytes "
                        + "that polls have moved.");
        add(RdmaCounter.WORK);
        counters("rdma.loop.sleeps", "Counts the times that an idle event loop has blocked.");
        add(RdmaCounter.SLEEPS);
        secondCounters(
                "rdma.loop.time",
                "Measures the time of the rounds that found something to do: in I/O, handlers "
                        + "included, and in tasks.");
        time(RdmaCounter.IO_NANOS, tag("part", "io"));
        time(RdmaCounter.TASK_NANOS, tag("part", "tasks"));
        counters(
                "rdma.loop.stalls",
                "Counts the rounds of event loops that took longer than "
                        + RdmaEventLoopGroup.STALL_MILLIS
                        + " ms, because a handler or task blocked.");
        add(RdmaCounter.STALLS);
        counters(
                "rdma.loop.failures",
                "Counts the rounds of event loops that an exception has ended.");
        add(RdmaCounter.FAILED_ROUNDS);
    }

    private void time(RdmaCounter counter, Tags tags) {
        row(tags, group -> group.value(counter) / NANOS, "", "");
    }

    private void memory() {
        byteGauges(
                "rdma.memory.registered",
                "Shows how many bytes of memory the event loops have registered, in use or "
                        + "free.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredBytes, "", "");
        byteGauges(
                "rdma.memory.used",
                "Shows how many bytes of registered memory are in use: by posted receives, "
                        + "received messages, and sends in flight.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::registeredBytesInUse, "", "");
        jvmByteGauge(
                "rdma.memory.limit",
                "Shows how many bytes of memory all event loops of the JVM together may "
                        + "register.",
                RdmaChannel::registeredBytesLimit);
        counters(
                "rdma.memory.refusals",
                "Counts the buffers that were refused because the limit of registered memory "
                        + "was reached.");
        add(RdmaCounter.MEMORY_REFUSALS);
        counters(
                "rdma.memory.registrations",
                "Counts the registrations of memory with the device: of pooled memory, of large"
                        + " buffers that are sent in place, and of exposed ranges where the device"
                        + " cannot expose a part of a registration.");
        add(RdmaCounter.REGISTRATIONS, "rdma: mrs_allocated", "");
    }

    private void receives() {
        gauges(
                "rdma.receives.posted",
                "Shows how many receives are posted on channels of messages, accurate to one "
                        + "batch for each channel.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::postedReceives, "", "");
        counters(
                "rdma.receives.low",
                "Counts the times that the posted receives of a channel of messages fell to a"
                    + " quarter of their target: the peer sends in bursts, or the pipeline does not"
                    + " read.");
        add(RdmaCounter.RECEIVES_LOW, "", "rdma_stat_rq_starve");
        counters(
                "rdma.reads.stalled",
                "Counts the connections that ended because the peer did not answer an RDMA "
                        + "Read in time.");
        add(RdmaCounter.READS_STALLED);
    }

    private void streams() {
        gauges("rdma.streams", "Shows how many byte streams are connected.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::openStreams, "", "");
        counters("rdma.streams.opened", "Counts the byte streams that were connected.");
        add(RdmaCounter.STREAMS_OPENED);
        counters(
                "rdma.streams.closed",
                "Counts the byte streams that have ended: orderly, reset by this end (SO_LINGER 0,"
                    + " a close that DRAIN_MILLIS has cut, or the peer has broken the protocol), or"
                    + " without the peer's last message.");
        add(RdmaCounter.STREAMS_CLOSED, tag("reason", "orderly"));
        add(RdmaCounter.STREAMS_RESET, tag("reason", "reset"));
        add(RdmaCounter.STREAMS_RESET_BY_PEER, tag("reason", "reset_by_peer"));
        gauges(
                "rdma.streams.halfclosed",
                "Shows how many byte streams have only one direction left: this end has ended "
                        + "the output, or the peer the input.");
        row(tag("direction", "out"), RdmaEventLoopGroupStatistics::streamsWithoutOutput, "", "");
        row(tag("direction", "in"), RdmaEventLoopGroupStatistics::streamsWithoutInput, "", "");
        gauges(
                "rdma.streams.waiting",
                "Shows how many byte streams have flushed bytes that wait for the peer now: "
                        + "for a credit, or for room in its receive buffer.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::waitingStreams, "", "");
        secondCounters(
                "rdma.stream.wait",
                "Measures the time that byte streams with flushed bytes have waited for their "
                        + "peers, waits that go on included.");
        time(RdmaCounter.STREAM_WAIT_NANOS, Tags.empty());
        gauges(
                "rdma.stream.credits",
                "Shows how many credits the peers of byte streams have left: how many DATA "
                        + "messages may be sent now.");
        row(Tags.empty(), RdmaEventLoopGroupStatistics::streamCredits, "", "");
        byteCounters(
                "rdma.stream.traffic",
                "Counts the bytes that byte streams have received and sent.");
        add(RdmaCounter.STREAM_BYTES_IN, tag("direction", "in"));
        add(RdmaCounter.STREAM_BYTES_OUT, tag("direction", "out"));
    }

    private void admissions() {
        counters(
                "rdma.admissions.refused",
                "Counts the connection requests that a server channel has refused: rejected by the"
                        + " admission policy, not decided in time, or because the policy failed.");
        add(RdmaCounter.ADMISSIONS_REJECTED, tag("reason", "rejected"));
        add(RdmaCounter.ADMISSIONS_TIMED_OUT, tag("reason", "timed_out"));
        add(RdmaCounter.ADMISSIONS_FAILED, tag("reason", "failed"));
    }

    private void device() {
        byteCounters(
                "rdma.device.traffic",
                "Counts the bytes that connections have transferred, as far as the device "
                        + "counts them.");
        add(RdmaCounter.BYTES_IN, tag("direction", "in"));
        add(RdmaCounter.BYTES_OUT, tag("direction", "out"));
        counters("rdma.device.fpdus", "Counts the FPDUs of iWARP that were received and sent.");
        add(RdmaCounter.FPDUS_IN, tag("direction", "in"));
        add(RdmaCounter.FPDUS_OUT, tag("direction", "out"));
        counters(
                "rdma.device.connections.opened",
                "Counts the connections that the device has established.");
        add(RdmaCounter.CONNECTIONS_OPENED);
        counters(
                "rdma.device.connections.shared",
                "Counts the connections that the device has established in shared memory.");
        add(RdmaCounter.CONNECTIONS_SHARED);
        counters(
                "rdma.device.connections.ended",
                "Counts the connections of the device that have ended.");
        add(RdmaCounter.CONNECTIONS_ENDED);
        counters(
                "rdma.device.connections.lost",
                "Counts the connections of the device that ended by an error of the network, "
                        + "or inside a message.");
        add(RdmaCounter.CONNECTIONS_LOST);
        counters(
                "rdma.device.connections.stalled",
                "Counts the connections of the device that ended because the peer stopped "
                        + "inside an FPDU or a message. They count as lost, too.");
        add(RdmaCounter.CONNECTIONS_STALLED);
        counters(
                "rdma.device.startups.failed",
                "Counts the start-ups of iWARP connections that have failed.");
        add(RdmaCounter.STARTUPS_REFUSED, tag("reason", "refused"));
        add(RdmaCounter.STARTUPS_TIMED_OUT, tag("reason", "timed_out"));
        counters(
                "rdma.device.terminates",
                "Counts the Terminate messages of iWARP that were sent and received. Each one "
                        + "ends a connection.");
        add(RdmaCounter.TERMINATES_SENT, tag("direction", "out"));
        add(RdmaCounter.TERMINATES_RECEIVED, tag("direction", "in"));
        counters(
                "rdma.device.crc.errors",
                "Counts the FPDUs of iWARP with a wrong CRC. Each one ends a connection.");
        add(RdmaCounter.CRC_ERRORS);
        counters(
                "rdma.device.receives.held",
                "Counts the received messages that have waited for memory.");
        add(RdmaCounter.RECEIVES_HELD);
        counters(
                "rdma.device.completions.failed",
                "Counts the work requests that have failed. Flushed work requests are not "
                        + "counted.");
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
