// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.codec.CallOutcome;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaGauge;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.RpcRdmaRole;

/** The meters of RPC-over-RDMA. */
final class RpcRdmaMeters extends MeterTable<RpcRdmaMetrics> {

    static final String CALL_DURATION = "rpcrdma.call.duration";
    static final String CREDIT_WAIT = "rpcrdma.credit.wait";
    static final String CONNECT_DURATION = "rpcrdma.connect.duration";

    /** What a procedure is called that no binding has a name for. */
    static final String OTHER_PROCEDURE = "other";

    static final RpcRdmaMeters TABLE = new RpcRdmaMeters();

    private RpcRdmaMeters() {
        calls();
        messages();
        memory();
        credits();
        failures();
        connections();
    }

    private void calls() {
        counters("rpcrdma.calls", "calls", "Calls sent as requester, and accepted as responder");
        add(RpcRdmaCounter.CALLS_SENT, "xprt: sends", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.CALLS_RECEIVED, "", "rdma_stat_recv", role(RpcRdmaRole.RESPONDER));
        counters(
                "rpcrdma.replies",
                "replies",
                "Replies received as requester, and sent as responder; RDMA_ERROR is none");
        add(RpcRdmaCounter.REPLIES_RECEIVED, "xprt: recvs", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.REPLIES_SENT, "", "", role(RpcRdmaRole.RESPONDER));
        gauges(
                "rpcrdma.calls.active",
                "calls",
                "Calls that are sent and not answered as requester, received and not answered as"
                        + " responder");
        add(
                RpcRdmaGauge.CALLS_IN_FLIGHT,
                "xprt: req_u (a sum over time)",
                role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaGauge.CALLS_IN_PROGRESS, "", role(RpcRdmaRole.RESPONDER));
        family(
                CALL_DURATION,
                Kind.TIMER,
                null,
                "Answered calls: as requester from the write to the reply, waiting for a credit"
                        + " included; as responder from the call's message to the reply's");
        for (RpcRdmaRole role : RpcRdmaRole.values()) {
            timer(
                    role == RpcRdmaRole.REQUESTER ? "per-op: execute (ms)" : "",
                    role(role)
                            .and("procedure", "NFSv3.READ, ..., " + OTHER_PROCEDURE)
                            .and("outcome", outcomes()));
        }
        counters(
                "rpcrdma.client.calls",
                "calls",
                "Calls of an RpcRdmaClient that were sent again on another connection, repeated"
                        + " with more room for the reply, or not answered in time");
        add(
                RpcRdmaCounter.CALLS_RETRANSMITTED,
                "per-op: ntrans - ops",
                "",
                tag("event", "retransmitted"));
        add(RpcRdmaCounter.CALLS_REPEATED, "", "", tag("event", "repeated"));
        add(RpcRdmaCounter.CALLS_TIMED_OUT, "per-op: timeouts", "", tag("event", "timed_out"));
        counters(
                "rpcrdma.duplicates",
                "calls",
                "Calls that had come before: answered from the duplicate request cache, or left"
                        + " waiting for the first one's answer");
        add(RpcRdmaCounter.DUPLICATES_REPLAYED, "", "", tag("outcome", "replayed"));
        add(RpcRdmaCounter.DUPLICATES_WAITING, "", "", tag("outcome", "waiting"));
    }

    private static String outcomes() {
        List<String> names = new ArrayList<>();
        for (CallOutcome outcome : CallOutcome.values()) {
            names.add(nameOf(outcome));
        }
        return String.join(", ", names);
    }

    private void messages() {
        counters(
                "rpcrdma.messages",
                "messages",
                "Calls and replies by their form: no chunks; reduced arguments, a Position Zero"
                    + " Read chunk, offered Write chunks or Reply chunk; a reply in the Reply chunk"
                    + " or in Read chunks. One call can be of several forms");
        form(RpcRdmaCounter.SHORT_MESSAGES, "short", "");
        form(RpcRdmaCounter.READ_CHUNK_CALLS, "read_chunk_call", "rdma: read_chunk_count");
        form(RpcRdmaCounter.LONG_CALLS, "long_call", "rdma: nomsg_call_count");
        form(RpcRdmaCounter.WRITE_CHUNK_CALLS, "write_chunk_call", "rdma: write_chunk_count");
        form(RpcRdmaCounter.REPLY_CHUNK_CALLS, "reply_chunk_call", "rdma: reply_chunk_count");
        form(RpcRdmaCounter.LONG_REPLIES, "long_reply", "");
        form(RpcRdmaCounter.READ_CHUNK_REPLIES, "read_chunk_reply", "");
        counters("rpcrdma.inline", "bytes", "Payload inside Sends, transport headers not counted");
        byRole(RpcRdmaCounter.INLINE_BYTES, "", "");
        counters(
                "rpcrdma.copied",
                "bytes",
                "Payload copied because it was not in one direct buffer");
        byRole(RpcRdmaCounter.COPIED_BYTES, "rdma: pullup_copy_count, fixup_copy_count", "");
        counters("rpcrdma.placed", "bytes", "What responders have placed into this side's memory");
        add(RpcRdmaCounter.PLACED_BYTES, "rdma: total_rdma_reply", "", Tags.empty());
        counters("rpcrdma.pulled", "bytes", "What was read from peers by RDMA Read");
        add(RpcRdmaCounter.READ_BYTES, "", "rdma_stat_read (Reads)", Tags.empty());
        counters("rpcrdma.pushed", "bytes", "What was written to peers by RDMA Write");
        add(RpcRdmaCounter.WRITE_BYTES, "", "rdma_stat_write (Writes)", Tags.empty());
        counters(
                "rpcrdma.pull.completions",
                "messages",
                "Pull completions sent as requester, and received as responder for a waiting"
                        + " reply");
        add(RpcRdmaCounter.PULL_COMPLETIONS_SENT, "", "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, "", "", role(RpcRdmaRole.RESPONDER));
        gauges(
                "rpcrdma.replies.waiting",
                "replies",
                "Replies in Read chunks that wait for their pull completion");
        add(RpcRdmaGauge.REPLIES_WAITING, "", Tags.empty());
        counters(
                "rpcrdma.replies.expired",
                "replies",
                "Replies in Read chunks freed because no pull completion came in time");
        add(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED, "", "", Tags.empty());
    }

    private void memory() {
        gauges(
                "rpcrdma.pulled.held",
                "bytes",
                "Memory of messages that are being pulled, or were and are not answered");
        add(RpcRdmaGauge.PULLED_BYTES, "", Tags.empty());
        counters(
                "rpcrdma.invalidations",
                "handles",
                "Handles that ended by the responder's Send With Invalidate, or here");
        add(RpcRdmaCounter.REMOTE_INVALIDATIONS, "", "", tag("by", "remote"));
        add(RpcRdmaCounter.LOCAL_INVALIDATIONS, "rdma: local_inv_needed", "", tag("by", "local"));
    }

    private void credits() {
        gauges(
                "rpcrdma.credits",
                "credits",
                "Credits granted by peers as requester, granted to peers as responder");
        add(RpcRdmaGauge.CREDITS_GRANTED, "", role(RpcRdmaRole.REQUESTER));
        add(RpcRdmaGauge.CREDITS_OFFERED, "", role(RpcRdmaRole.RESPONDER));
        gauges("rpcrdma.calls.waiting", "calls", "Calls that wait for a credit now");
        add(RpcRdmaGauge.CALLS_WAITING, "xprt: bklog_u (a sum over time)", Tags.empty());
        counters("rpcrdma.calls.queued", "calls", "Calls that had to wait for a credit");
        add(RpcRdmaCounter.CALLS_QUEUED, "", "", Tags.empty());
        counters(
                "rpcrdma.calls.held",
                "calls",
                "Calls of peers that had to wait for memory before their Read chunks were read");
        add(RpcRdmaCounter.CALLS_HELD, "", "", Tags.empty());
        family(CREDIT_WAIT, Kind.TIMER, null, "How long calls have waited for their credit");
        timer("per-op: queue (ms)", Tags.empty());
        counters(
                "rpcrdma.zero.grants",
                "replies",
                "Replies whose grant was 0, which RFC 8166 forbids");
        add(RpcRdmaCounter.ZERO_GRANTS, "", "", Tags.empty());
        counters(
                "rpcrdma.roundups.placed",
                "results",
                "Results that a responder has placed with their round-up, which RFC 8166 forbids");
        add(RpcRdmaCounter.ROUND_UPS_PLACED, "", "", Tags.empty());
    }

    private void failures() {
        counters(
                "rpcrdma.calls.failed",
                "calls",
                "Calls that got no reply: refused by RDMA_ERROR, answered by a bad reply, given up,"
                        + " or out when their connection was lost");
        add(RpcRdmaCounter.ERRORS_RECEIVED, "", "", tag("reason", "refused"));
        add(RpcRdmaCounter.BAD_REPLIES, "", "", tag("reason", "bad_reply"));
        add(RpcRdmaCounter.CALLS_CANCELLED, "", "", tag("reason", "cancelled"));
        add(RpcRdmaCounter.CALLS_LOST, "", "", tag("reason", "connection_lost"));
        counters("rpcrdma.errors.sent", "messages", "Calls that the transport has answered itself");
        add(RpcRdmaCounter.VERSION_ERRORS_SENT, "", "", tag("reason", "version"));
        add(RpcRdmaCounter.CHUNK_ERRORS_SENT, "", "", tag("reason", "chunk"));
        add(RpcRdmaCounter.OPTION_ERRORS_SENT, "", "", tag("reason", "option"));
        add(RpcRdmaCounter.GARBAGE_ARGS_SENT, "", "", tag("reason", "garbage_args"));
        add(RpcRdmaCounter.SYSTEM_ERRORS_SENT, "", "", tag("reason", "system_err"));
        counters(
                "rpcrdma.fatal.calls.refused",
                "calls",
                "Calls refused because they have ended an earlier connection");
        add(RpcRdmaCounter.FATAL_XIDS_REFUSED, "", "", Tags.empty());
        counters("rpcrdma.messages.dropped", "messages", "Messages that nothing was done with");
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
                "connections",
                "Connections closed here because of their peer: more calls than credits, or too"
                        + " many bad calls in a row");
        add(RpcRdmaCounter.CREDIT_OVERRUNS, "", "", tag("reason", "credit_overrun"));
        add(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS, "", "", tag("reason", "chunk_errors"));
    }

    private void connections() {
        gauges("rpcrdma.connections", "connections", "Open connections");
        row(Tags.empty(), RpcRdmaMetrics::connections, "", "");
        counters("rpcrdma.connections.opened", "connections", "Connections that were made");
        add(RpcRdmaCounter.CONNECTIONS_OPENED, "xprt: connect_count", "", Tags.empty());
        counters(
                "rpcrdma.connections.closed",
                "connections",
                "Connections that have ended: closed here, given up because of what the peer has"
                        + " done or of a failure, closed by the peer, or lost by an error of the"
                        + " network, the device or the memory");
        add(RpcRdmaCounter.CONNECTIONS_CLOSED_HERE, "", "", tag("reason", "here"));
        add(RpcRdmaCounter.CONNECTIONS_GIVEN_UP, "", "", tag("reason", "given_up"));
        add(RpcRdmaCounter.CONNECTIONS_CLOSED_BY_PEER, "", "", tag("reason", "peer"));
        add(RpcRdmaCounter.CONNECTIONS_LOST, "", "", tag("reason", "lost"));
        counters(
                "rpcrdma.connects.failed",
                "connects",
                "Attempts of an RpcRdmaClient to connect that have failed");
        add(RpcRdmaCounter.CONNECTS_FAILED, "", "", Tags.empty());
        family(
                CONNECT_DURATION,
                Kind.TIMER,
                null,
                "Attempts of an RpcRdmaClient to connect, from their beginning to their end");
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
