// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Counters of {@link RpcRdmaMetrics}. Byte counts are payload without transport headers. */
public enum RpcRdmaCounter {
    /** Calls sent as requester. */
    CALLS_SENT,
    /** Replies received, RDMA_ERROR not among them. */
    REPLIES_RECEIVED,
    /** Calls received as responder and accepted. */
    CALLS_RECEIVED,
    /** Replies sent, RDMA_ERROR not among them. */
    REPLIES_SENT,

    /** Messages, either way, that were RDMA_MSG without a chunk. */
    SHORT_MESSAGES(true),
    /** Calls, either way, with a reduced argument. */
    READ_CHUNK_CALLS(true),
    /** Calls, either way, with a Position Zero Read chunk. */
    LONG_CALLS(true),
    /** Calls, either way, that offered a Write chunk. */
    WRITE_CHUNK_CALLS(true),
    /** Calls, either way, that offered a Reply chunk. */
    REPLY_CHUNK_CALLS(true),
    /** Replies, either way, in a Reply chunk. */
    LONG_REPLIES(true),
    /** Replies, either way, in Read chunks of the responder. */
    READ_CHUNK_REPLIES(true),
    /** Pull completions sent as requester. */
    PULL_COMPLETIONS_SENT,
    /** Pull completions received for a reply that waited. */
    PULL_COMPLETIONS_RECEIVED,
    /** Replies in Read chunks that were freed because their pull completion did not come in time. */
    READ_CHUNK_REPLIES_EXPIRED,

    /** Calls that waited for a credit. */
    CALLS_QUEUED,
    /** Calls of the peer that waited for memory before their Read chunks were read. */
    CALLS_HELD,
    /** Times a peer granted 0 credits. */
    ZERO_GRANTS,
    /** Results that a responder has written with round-up, which RFC 8166, 3.4.6.2 forbids. */
    ROUND_UPS_PLACED,
    /** Calls cancelled by {@link RpcRdmaCancel}, including calls of a client that timed out. */
    CALLS_CANCELLED,
    /** Calls in flight when their connection was lost. */
    CALLS_LOST,

    /** Calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient} that were sent again on another connection. */
    CALLS_RETRANSMITTED,
    /** Calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient} that were repeated with more room for the reply. */
    CALLS_REPEATED,
    /** Calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient} that got no reply in time. */
    CALLS_TIMED_OUT,

    /** Payload bytes inside Sends, either way. */
    INLINE_BYTES(true),
    /** Bytes that this end has read by RDMA Read: chunks of calls, and replies in Read chunks. */
    READ_BYTES,
    /** Bytes that this responder has written into memory of requesters by RDMA Write. */
    WRITE_BYTES_SENT,
    /** Bytes that responders have written into this requester's memory by RDMA Write. */
    WRITE_BYTES_RECEIVED,
    /** Bytes, either way, copied because they were not contiguous in a direct buffer. */
    COPIED_BYTES(true),

    /** Handles freed by the responder's Send With Invalidate. */
    REMOTE_INVALIDATIONS,
    /** Handles invalidated here. */
    LOCAL_INVALIDATIONS,

    /** ERR_VERS sent. */
    VERSION_ERRORS_SENT,
    /** ERR_CHUNK sent. */
    CHUNK_ERRORS_SENT,
    /** INVAL_OPTION sent: optional operations of version 2 without a handler. */
    OPTION_ERRORS_SENT,
    /** GARBAGE_ARGS sent by the transport. */
    GARBAGE_ARGS_SENT,
    /** SYSTEM_ERR sent by the transport: user code has thrown, or there was no memory. */
    SYSTEM_ERRORS_SENT,
    /** RDMA_ERROR received for an outbound call. */
    ERRORS_RECEIVED,
    /**
     * Replies that ended their call with an error: eligibility, chunk lengths, or Read chunks that cannot be pulled.
     */
    BAD_REPLIES,

    /** Calls answered from the duplicate request cache. */
    DUPLICATES_REPLAYED,
    /** Calls that waited for the answer to an earlier transmission of the same call. */
    DUPLICATES_WAITING,
    /** Calls refused because they have ended an earlier connection. */
    FATAL_XIDS_REFUSED,

    /** Dropped: shorter than a header. */
    DROPPED_SHORT,
    /** Dropped: another version, at a requester. */
    DROPPED_VERSION,
    /** Dropped: RDMA_DONE, or a procedure that the role does not take. */
    DROPPED_PROCEDURE,
    /** Dropped: a pull completion that no reply waits for. */
    DROPPED_COMPLETIONS,
    /** Dropped: RDMA_ERROR that does not decode. */
    DROPPED_ERROR,
    /** Dropped: a reply or an error without a call. */
    DROPPED_UNKNOWN_XID,
    /** Dropped: a call whose XID is in progress. */
    DROPPED_DUPLICATE_XID,
    /** Dropped: a reply with a bad header. */
    DROPPED_BAD_REPLY,
    /** Dropped: a call at a requester without the reverse direction. */
    DROPPED_UNEXPECTED_CALL,

    /** Connections that were made, by either side. */
    CONNECTIONS_OPENED,
    /** Connections that have ended, for whatever reason: the sum of the next four. */
    CONNECTIONS_CLOSED,
    /** Connections that this side has closed, or whose event loop was shut down. */
    CONNECTIONS_CLOSED_HERE,
    /** Connections that this side has closed because of the peer's behaviour, or of a failure. */
    CONNECTIONS_GIVEN_UP,
    /** Connections that the peer has ended in order. */
    CONNECTIONS_CLOSED_BY_PEER,
    /** Connections that have ended by an error of the network, of the device or of either end's memory. */
    CONNECTIONS_LOST,
    /** Attempts of an {@link org.rpcrdma.codec.client.RpcRdmaClient} to connect that have failed. */
    CONNECTS_FAILED,
    /** Connections closed because the peer sent more calls than it had credits. */
    CREDIT_OVERRUNS,
    /** Connections closed because too many calls in a row were answered with ERR_CHUNK. */
    CHUNK_ERROR_DISCONNECTS;

    private final boolean isByRole;

    RpcRdmaCounter() {
        this(false);
    }

    RpcRdmaCounter(boolean isByRole) {
        this.isByRole = isByRole;
    }

    /** {@return whether requester and responder count it separately: counters described as "either way"} */
    public boolean isByRole() {
        return isByRole;
    }
}
