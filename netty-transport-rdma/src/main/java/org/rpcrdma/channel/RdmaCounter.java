// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.verbs.DeviceCounter;

/** What event loops and their devices count, see {@link RdmaEventLoopGroup#value(RdmaCounter)}. */
public enum RdmaCounter {
    /** Rounds of event loops: a poll of the device, then tasks. */
    ROUNDS(null),
    /** Rounds that found something to do. */
    ROUNDS_WITH_WORK(null),
    /** Completions and events that polls have delivered, or bytes that they have moved: what the device calls work. */
    WORK(null),
    /** Times a loop has blocked because there was nothing to do. */
    SLEEPS(null),
    /** Nanoseconds spent polling and delivering, in rounds that found something to do. */
    IO_NANOS(null),
    /** Nanoseconds spent in tasks, in rounds that found something to do. */
    TASK_NANOS(null),
    /**
     * Rounds that took longer than {@link RdmaEventLoopGroup#STALL_MILLIS}: some handler or task has blocked the loop.
     */
    STALLS(null),
    /** Rounds that failed by an exception. */
    FAILED_ROUNDS(null),
    /** Buffers that were refused for lack of registered memory. */
    MEMORY_REFUSALS(null),
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
    /** As {@link DeviceCounter#STARTUPS_REFUSED}. */
    STARTUPS_REFUSED(DeviceCounter.STARTUPS_REFUSED),
    /** As {@link DeviceCounter#STARTUPS_TIMED_OUT}. */
    STARTUPS_TIMED_OUT(DeviceCounter.STARTUPS_TIMED_OUT),
    /** As {@link DeviceCounter#TERMINATES_SENT}. */
    TERMINATES_SENT(DeviceCounter.TERMINATES_SENT),
    /** As {@link DeviceCounter#TERMINATES_RECEIVED}. */
    TERMINATES_RECEIVED(DeviceCounter.TERMINATES_RECEIVED),
    /** As {@link DeviceCounter#RECEIVES_HELD}. */
    RECEIVES_HELD(DeviceCounter.RECEIVES_HELD),
    /** As {@link DeviceCounter#COMPLETIONS_FAILED}. */
    COMPLETIONS_FAILED(DeviceCounter.COMPLETIONS_FAILED);

    /** {@code null} for what loops count. */
    final DeviceCounter ofDevice;

    RdmaCounter(DeviceCounter ofDevice) {
        this.ofDevice = ofDevice;
    }
}
