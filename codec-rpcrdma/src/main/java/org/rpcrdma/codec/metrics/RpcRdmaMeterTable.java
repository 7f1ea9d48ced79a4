// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.codec.RpcRdmaCallOutcome;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaGauge;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.RpcRdmaRole;

/** Table of the meters of RPC-over-RDMA. */
final class RpcRdmaMeterTable extends MeterTable<RpcRdmaMetrics> {

    static final String CALL_DURATION = "rpcrdma.call.duration";
    static final String CREDIT_WAIT = "rpcrdma.credit.wait";
    static final String CONNECT_DURATION = "rpcrdma.connect.duration";

    /** Name of a procedure that no binding names. */
    static final String OTHER_PROCEDURE = "other";

    private static final double NANOS = 1e9;

    static final RpcRdmaMeterTable TABLE = new RpcRdmaMeterTable();

    private RpcRdmaMeterTable() {
        calls();
        messages();
        memory();
        credits();
        failures();
        connections();
    }

    private void calls() {
        counters(
                "rpcrdma.calls",
                "Counts the calls that the requester has sent, and the calls that the "
                        + "responder has accepted.");
        add(RpcRdmaCounter.CALLS_SENT, "xprt: sends", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.CALLS_RECEIVED, "", "rdma_stat_recv", role(RpcRdmaRole.RESPONDER));
        counters(
                "rpcrdma.replies",
                "Counts the replies that the requester has received, and the replies that the "
                        + "responder has sent. RDMA_ERROR is not a reply.");
        add(RpcRdmaCounter.REPLIES_RECEIVED, "xprt: recvs", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.REPLIES_SENT, "", "", role(RpcRdmaRole.RESPONDER));
        gauges(
                "rpcrdma.calls.active",
                "Shows how many calls are in flight at the requester, and how many calls the "
                        + "responder has received and not answered yet.");
        add(
                RpcRdmaGauge.CALLS_IN_FLIGHT,
                "xprt: req_u (a sum over time)",
                role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaGauge.CALLS_IN_PROGRESS, "", role(RpcRdmaRole.RESPONDER));
        greatestSecondGauges(
                "rpcrdma.calls.oldest",
                "Shows the age of the oldest call without an answer: since its write at the "
                        + "requester, the wait for a credit included; since its arrival at the "
                        + "responder. It is 0 where no call is out.");
        for (RpcRdmaRole role : RpcRdmaRole.values()) {
            row(role(role), metrics -> metrics.oldestCallNanos(role) / NANOS, "", "");
        }
        timers(
                CALL_DURATION,
                "Measures the time from the write of a call to its reply, the wait for a credit"
                    + " included, at the requester; from the arrival of a call to the send of its"
                    + " reply at the responder. Only answered calls are timed.");
        for (RpcRdmaRole role : RpcRdmaRole.values()) {
            timer(
                    role == RpcRdmaRole.REQUESTER ? "per-op: execute (ms)" : "",
                    role(role)
                            .and("procedure", "NFSv3.READ, ..., " + OTHER_PROCEDURE)
                            .and("outcome", outcomes()));
        }
        counters(
                "rpcrdma.client.calls",
                "Counts the calls that an RpcRdmaClient has retransmitted on another connection,"
                    + " repeated with more room for the reply, or given up because no reply came in"
                    + " time.");
        add(
                RpcRdmaCounter.CALLS_RETRANSMITTED,
                "per-op: ntrans - ops",
                "",
                tag("event", "retransmitted"));
        add(RpcRdmaCounter.CALLS_REPEATED, "", "", tag("event", "repeated"));
        add(RpcRdmaCounter.CALLS_TIMED_OUT, "per-op: timeouts", "", tag("event", "timed_out"));
        counters(
                "rpcrdma.duplicates",
                "Counts the retransmitted calls that the duplicate request cache has answered, "
                        + "or that wait for the answer to the first transmission.");
        add(RpcRdmaCounter.DUPLICATES_REPLAYED, "", "", tag("outcome", "replayed"));
        add(RpcRdmaCounter.DUPLICATES_WAITING, "", "", tag("outcome", "waiting"));
    }

    private static String outcomes() {
        List<String> names = new ArrayList<>();
        for (RpcRdmaCallOutcome outcome : RpcRdmaCallOutcome.values()) {
            names.add(nameOf(outcome));
        }
        return String.join(", ", names);
    }

    private void messages() {
        counters(
                "rpcrdma.messages",
                "Counts the calls and replies by form: without chunks; with reduced arguments, a"
                    + " Position Zero Read chunk, Write chunks or a Reply chunk; a reply in the"
                    + " Reply chunk or in Read chunks. One call may count under several forms.");
        form(RpcRdmaCounter.SHORT_MESSAGES, "short", "");
        form(RpcRdmaCounter.READ_CHUNK_CALLS, "read_chunk_call", "rdma: read_chunk_count");
        form(RpcRdmaCounter.LONG_CALLS, "long_call", "rdma: nomsg_call_count");
        form(RpcRdmaCounter.WRITE_CHUNK_CALLS, "write_chunk_call", "rdma: write_chunk_count");
        form(RpcRdmaCounter.REPLY_CHUNK_CALLS, "reply_chunk_call", "rdma: reply_chunk_count");
        form(RpcRdmaCounter.LONG_REPLIES, "long_reply", "");
        form(RpcRdmaCounter.READ_CHUNK_REPLIES, "read_chunk_reply", "");
        byteCounters(
                "rpcrdma.inline",
                "Counts the payload bytes inside Send messages, without transport headers.");
        byRole(RpcRdmaCounter.INLINE_BYTES, "", "");
        byteCounters(
                "rpcrdma.copied",
                "Counts the payload bytes that were copied because they were not in one direct "
                        + "buffer.");
        byRole(RpcRdmaCounter.COPIED_BYTES, "rdma: pullup_copy_count, fixup_copy_count", "");
        byteCounters(
                "rpcrdma.write",
                "Counts the bytes transferred by RDMA Write: from responders into memory of "
                        + "this requester, and from this responder into memory of requesters.");
        add(
                RpcRdmaCounter.WRITE_BYTES_RECEIVED,
                "rdma: total_rdma_reply",
                "",
                role(RpcRdmaRole.REQUESTER));
        add(
                RpcRdmaCounter.WRITE_BYTES_SENT,
                "",
                "rdma_stat_write (Writes)",
                role(RpcRdmaRole.RESPONDER));
        byteCounters(
                "rpcrdma.read",
                "Counts the bytes that this end has read from peers by RDMA Read: chunks of "
                        + "calls, and replies in Read chunks.");
        add(RpcRdmaCounter.READ_BYTES, "", "rdma_stat_read (Reads)", Tags.empty());
        counters(
                "rpcrdma.pull.completions",
                "Counts the pull completions that the requester has sent, and those that the "
                        + "responder has received for a reply in Read chunks.");
        add(RpcRdmaCounter.PULL_COMPLETIONS_SENT, "", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, "", "", role(RpcRdmaRole.RESPONDER));
        gauges(
                "rpcrdma.replies.waiting",
                "Shows how many replies in Read chunks wait for their pull completion now.");
        add(RpcRdmaGauge.REPLIES_WAITING, "", Tags.empty());
        counters(
                "rpcrdma.replies.expired",
                "Counts the replies in Read chunks that were released because no pull "
                        + "completion arrived in time.");
        add(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED, "", "", Tags.empty());
    }

    private void memory() {
        byteGauges(
                "rpcrdma.read.held",
                "Shows how many bytes are held by messages whose Read chunks are being read, "
                        + "or that were read and are not answered yet.");
        add(RpcRdmaGauge.READ_BYTES_HELD, "", Tags.empty());
        counters(
                "rpcrdma.invalidations",
                "Counts the handles invalidated by the responder's Send With Invalidate, and "
                        + "the handles invalidated locally.");
        add(RpcRdmaCounter.REMOTE_INVALIDATIONS, "", "", tag("by", "remote"));
        add(RpcRdmaCounter.LOCAL_INVALIDATIONS, "rdma: local_inv_needed", "", tag("by", "local"));
    }

    private void credits() {
        gauges(
                "rpcrdma.credits",
                "Shows how many credits peers grant to the requester, and how many credits the "
                        + "responder grants to peers.");
        add(RpcRdmaGauge.CREDITS_GRANTED, "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaGauge.CREDITS_OFFERED, "", role(RpcRdmaRole.RESPONDER));
        gauges("rpcrdma.calls.waiting", "Shows how many calls wait for a credit now.");
        add(RpcRdmaGauge.CALLS_WAITING, "xprt: bklog_u (a sum over time)", Tags.empty());
        counters("rpcrdma.calls.queued", "Counts the calls that have waited for a credit.");
        add(RpcRdmaCounter.CALLS_QUEUED, "", "", Tags.empty());
        counters(
                "rpcrdma.calls.held",
                "Counts the calls from peers that have waited for memory before their Read "
                        + "chunks were read.");
        add(RpcRdmaCounter.CALLS_HELD, "", "", Tags.empty());
        timers(CREDIT_WAIT, "Measures the time that calls have waited for a credit.");
        timer("per-op: queue (ms)", Tags.empty());
        counters(
                "rpcrdma.zero.grants",
                "Counts the replies that granted zero credits, which RFC 8166, 3.3.1 forbids.");
        add(RpcRdmaCounter.ZERO_GRANTS, "", "", Tags.empty());
        counters(
                "rpcrdma.roundups.placed",
                "Counts the results whose XDR round-up the responder has written too, which "
                        + "RFC 8166, 3.4.6.2 forbids.");
        add(RpcRdmaCounter.ROUND_UPS_PLACED, "", "", Tags.empty());
    }

    private void failures() {
        counters(
                "rpcrdma.calls.failed",
                "Counts the calls that ended without a valid reply: refused by RDMA_ERROR, answered"
                        + " by an invalid reply, cancelled, or in flight when their connection was"
                        + " lost.");
        add(RpcRdmaCounter.ERRORS_RECEIVED, "", "", tag("reason", "refused"));
        add(RpcRdmaCounter.BAD_REPLIES, "", "", tag("reason", "bad_reply"));
        add(RpcRdmaCounter.CALLS_CANCELLED, "", "", tag("reason", "cancelled"));
        add(RpcRdmaCounter.CALLS_LOST, "", "", tag("reason", "connection_lost"));
        counters(
                "rpcrdma.errors.sent",
                "Counts the calls that the transport has answered with an error of its own.");
        add(RpcRdmaCounter.VERSION_ERRORS_SENT, "", "", tag("reason", "version"));
        add(RpcRdmaCounter.CHUNK_ERRORS_SENT, "", "", tag("reason", "chunk"));
        add(RpcRdmaCounter.OPTION_ERRORS_SENT, "", "", tag("reason", "option"));
        add(RpcRdmaCounter.GARBAGE_ARGS_SENT, "", "", tag("reason", "garbage_args"));
        add(RpcRdmaCounter.SYSTEM_ERRORS_SENT, "", "", tag("reason", "system_err"));
        counters(
                "rpcrdma.fatal.calls.refused",
                "Counts the calls that were refused because an earlier transmission of them "
                        + "has ended a connection.");
        add(RpcRdmaCounter.FATAL_XIDS_REFUSED, "", "", Tags.empty());
        counters("rpcrdma.messages.dropped", "Counts the messages that were discarded.");
        dropped(RpcRdmaCounter.DROPPED_SHORT, "");
        dropped(RpcRdmaCounter.DROPPED_VERSION, "");
        dropped(RpcRdmaCounter.DROPPED_PROCEDURE, "");
        dropped(RpcRdmaCounter.DROPPED_COMPLETIONS, "");
        dropped(RpcRdmaCounter.DROPPED_ERROR, "");
        dropped(RpcRdmaCounter.DROPPED_UNKNOWN_XID, "xprt: bad_xids");
        dropped(RpcRdmaCounter.DROPPED_DUPLICATE_XID, "");
        dropped(RpcRdmaCounter.DROPPED_BAD_REPLY, "rdma: bad_reply_count");
        dropped(RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, "");
        counters(
                "rpcrdma.connections.cut",
                "Counts the connections that this end has closed because their peer sent more "
                        + "calls than it had credits, or too many invalid calls in a row.");
        add(RpcRdmaCounter.CREDIT_OVERRUNS, "", "", tag("reason", "credit_overrun"));
        add(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS, "", "", tag("reason", "chunk_errors"));
    }

    private void connections() {
        gauges("rpcrdma.connections", "Shows how many connections are open.");
        row(Tags.empty(), RpcRdmaMetrics::connections, "", "");
        counters("rpcrdma.connections.opened", "Counts the connections that were established.");
        add(RpcRdmaCounter.CONNECTIONS_OPENED, "xprt: connect_count", "", Tags.empty());
        counters(
                "rpcrdma.connections.closed",
                "Counts the connections that have ended: closed by this end, given up because of"
                        + " the peer's behaviour or of a failure, closed by the peer, or lost by an"
                        + " error of the network, the device or the memory.");
        add(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE, "", "", tag("reason", "here"));
        add(RpcRdmaCounter.CONNECTIONS_GIVEN_UP, "", "", tag("reason", "given_up"));
        add(RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER, "", "", tag("reason", "peer"));
        add(RpcRdmaCounter.CONNECTIONS_LOST, "", "", tag("reason", "lost"));
        counters(
                "rpcrdma.connects.failed",
                "Counts the connection attempts of an RpcRdmaClient that have failed.");
        add(RpcRdmaCounter.CONNECTS_FAILED, "", "", Tags.empty());
        timers(
                CONNECT_DURATION,
                "Measures the time that connection attempts of an RpcRdmaClient have taken, "
                        + "failed ones included.");
        timer("xprt: connect_time (s)", tag("outcome", "connected, failed"));
    }

    // ------------------------------------------------------------------ rows

    private void add(RpcRdmaCounter counter, String client, String server, Tags tags) {
        row(tags, metrics -> metrics.value(counter), client, server);
    }

    private void add(RpcRdmaGauge gauge, String client, Tags tags) {
        row(tags, metrics -> metrics.value(gauge), client, "");
    }

    private void byRole(RpcRdmaCounter counter, String client, String server) {
        for (RpcRdmaRole role : RpcRdmaRole.values()) {
            boolean isRequester = role == RpcRdmaRole.REQUESTER;
            row(
                    role(role),
                    metrics -> metrics.value(role, counter),
                    isRequester ? client : "",
                    isRequester ? "" : server);
        }
    }

    private void form(RpcRdmaCounter counter, String form, String client) {
        for (RpcRdmaRole role : RpcRdmaRole.values()) {
            row(
                    role(role).and("form", form),
                    metrics -> metrics.value(role, counter),
                    role == RpcRdmaRole.REQUESTER ? client : "",
                    "");
        }
    }

    private void dropped(RpcRdmaCounter counter, String client) {
        String reason = nameOf(counter).substring("dropped_".length());
        add(counter, client, "", tag("reason", reason));
    }

    private void timer(String client, Tags tags) {
        row(tags, null, client, "");
    }

    static Tags role(RpcRdmaRole role) {
        return tag("role", nameOf(role));
    }
}
