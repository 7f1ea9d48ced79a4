// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.verbs.CompletionError;
import org.rpcrdma.verbs.DeviceCounter;

/** Counters of event loops and their devices, see {@link RdmaEventLoopGroup#value(RdmaCounter)}. */
public enum RdmaCounter {
    /** Rounds of event loops: a poll of the device, then tasks. */
    ROUNDS,
    /** Rounds that found something to do. */
    ROUNDS_WITH_WORK,
    /** Work of polls in units of the device: completions and events delivered, or bytes moved. */
    WORK,
    /** Times a loop has blocked because there was nothing to do. */
    SLEEPS,
    /** Nanoseconds spent polling and delivering, in rounds that found something to do. */
    IO_NANOS,
    /** Nanoseconds spent in tasks, in rounds that found something to do. */
    TASK_NANOS,
    /**
     * Rounds that took longer than {@link RdmaEventLoopGroup#STALL_MILLIS}: a handler or task has blocked the loop.
     */
    STALLS,
    /** Rounds that failed by an exception. */
    FAILED_ROUNDS,
    /** Buffers that were refused for lack of registered memory. */
    MEMORY_REFUSALS,
    /**
     * Registrations of memory with the device: of pooled memory, of large buffers sent without a copy, and of exposed
     * ranges if the device cannot expose parts of a registration.
     */
    REGISTRATIONS,
    /**
     * Times that the posted receives of a {@link RdmaChannel} fell to a quarter of the configured number, or to none if
     * that is below four: because of a burst of the peer, or because the pipeline does not read.
     */
    RECEIVES_LOW,
    /** Connections of a {@link RdmaChannel} that ended because the peer did not answer an RDMA Read in time. */
    READS_STALLED,
    /** Connections of an {@link RdmaStreamChannel} that were established. */
    STREAMS_OPENED,
    /** Connections of an {@link RdmaStreamChannel} that have ended after both ends knew of it: no data are missing. */
    STREAMS_CLOSED,
    /**
     * Connections of an {@link RdmaStreamChannel} that this end has cut off: by {@code SO_LINGER} 0, because the peer
     * has broken the protocol, or because a close has waited for it for {@link RdmaChannelOption#DRAIN_MILLIS}.
     */
    STREAMS_RESET,
    /**
     * Connections of an {@link RdmaStreamChannel} that ended without the peer's DISCONNECT message: cut off by the
     * peer, or lost.
     */
    STREAMS_RESET_BY_PEER,
    /** Bytes received by {@link RdmaStreamChannel}s. */
    STREAM_BYTES_IN,
    /** Bytes sent by {@link RdmaStreamChannel}s. */
    STREAM_BYTES_OUT,
    /**
     * Nanoseconds that {@link RdmaStreamChannel}s with flushed bytes have waited for their peers: for a credit, or for
     * room in a receive buffer. Waits that have not ended are counted up to now.
     */
    STREAM_WAIT_NANOS,
    /** Connection requests that the admission policy has rejected. */
    ADMISSIONS_REJECTED,
    /** Connection requests that were refused because the admission policy has not decided in time. */
    ADMISSIONS_TIMED_OUT,
    /** Connection requests that were refused because the admission policy has failed. */
    ADMISSIONS_FAILED,
    /** As {@link DeviceCounter#BYTES_IN}. */
    BYTES_IN(DeviceCounter.BYTES_IN),
    /** As {@link DeviceCounter#BYTES_OUT}. */
    BYTES_OUT(DeviceCounter.BYTES_OUT),
    /** As {@link DeviceCounter#FPDUS_IN}. */
    FPDUS_IN(DeviceCounter.FPDUS_IN),
    /** As {@link DeviceCounter#FPDUS_OUT}. */
    FPDUS_OUT(DeviceCounter.FPDUS_OUT),
    /** As {@link DeviceCounter#CONNECTIONS_OPENED}. */
    CONNECTIONS_OPENED(DeviceCounter.CONNECTIONS_OPENED),
    /** As {@link DeviceCounter#CONNECTIONS_SHARED}. */
    CONNECTIONS_SHARED(DeviceCounter.CONNECTIONS_SHARED),
    /** As {@link DeviceCounter#CONNECTIONS_ENDED}. */
    CONNECTIONS_ENDED(DeviceCounter.CONNECTIONS_ENDED),
    /** As {@link DeviceCounter#CONNECTIONS_LOST}. */
    CONNECTIONS_LOST(DeviceCounter.CONNECTIONS_LOST),
    /** As {@link DeviceCounter#CONNECTIONS_STALLED}. */
    CONNECTIONS_STALLED(DeviceCounter.CONNECTIONS_STALLED),
    /** As {@link DeviceCounter#STARTUPS_REFUSED}. */
    STARTUPS_REFUSED(DeviceCounter.STARTUPS_REFUSED),
    /** As {@link DeviceCounter#STARTUPS_TIMED_OUT}. */
    STARTUPS_TIMED_OUT(DeviceCounter.STARTUPS_TIMED_OUT),
    /** As {@link DeviceCounter#TERMINATES_SENT}. */
    TERMINATES_SENT(DeviceCounter.TERMINATES_SENT),
    /** As {@link DeviceCounter#TERMINATES_RECEIVED}. */
    TERMINATES_RECEIVED(DeviceCounter.TERMINATES_RECEIVED),
    /** As {@link DeviceCounter#CRC_ERRORS}. */
    CRC_ERRORS(DeviceCounter.CRC_ERRORS),
    /** As {@link DeviceCounter#RECEIVES_HELD}. */
    RECEIVES_HELD(DeviceCounter.RECEIVES_HELD),
    /** As {@link DeviceCounter#COMPLETIONS_FAILED}. */
    COMPLETIONS_FAILED(DeviceCounter.COMPLETIONS_FAILED),
    /** As {@link CompletionError#LOCAL_LENGTH}. */
    FAILED_LOCAL_LENGTH(CompletionError.LOCAL_LENGTH),
    /** As {@link CompletionError#LOCAL_PROTECTION}. */
    FAILED_LOCAL_PROTECTION(CompletionError.LOCAL_PROTECTION),
    /** As {@link CompletionError#REMOTE_REQUEST}. */
    FAILED_REMOTE_REQUEST(CompletionError.REMOTE_REQUEST),
    /** As {@link CompletionError#REMOTE_ACCESS}. */
    FAILED_REMOTE_ACCESS(CompletionError.REMOTE_ACCESS),
    /** As {@link CompletionError#REMOTE_OPERATION}. */
    FAILED_REMOTE_OPERATION(CompletionError.REMOTE_OPERATION),
    /** As {@link CompletionError#NO_ANSWER}. */
    FAILED_NO_ANSWER(CompletionError.NO_ANSWER),
    /** As {@link CompletionError#NO_RECEIVE}. */
    FAILED_NO_RECEIVE(CompletionError.NO_RECEIVE),
    /** As {@link CompletionError#OTHER}. */
    FAILED_OTHER(CompletionError.OTHER);

    /** {@code null} for counters of event loops, and for the parts of {@link #COMPLETIONS_FAILED}. */
    final DeviceCounter ofDevice;

    /** {@code null} for all but the parts of {@link #COMPLETIONS_FAILED}. */
    final CompletionError error;

    RdmaCounter() {
        this(null, null);
    }

    RdmaCounter(DeviceCounter ofDevice) {
        this(ofDevice, null);
    }

    RdmaCounter(CompletionError error) {
        this(null, error);
    }

    RdmaCounter(DeviceCounter ofDevice, CompletionError error) {
        this.ofDevice = ofDevice;
        this.error = error;
    }
}
