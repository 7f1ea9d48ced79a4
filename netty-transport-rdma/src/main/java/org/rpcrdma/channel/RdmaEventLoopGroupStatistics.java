// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkNotNull;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.List;

/**
 * Counters, channels and memory of the event loops of a group that takes RDMA channels, together: of an {@link
 * RdmaEventLoopGroup}, or of a group of Netty 4.2 with RDMA as its I/O. All methods may be called on any thread, which
 * may read slightly old values.
 */
public final class RdmaEventLoopGroupStatistics {

    private final EventLoopGroup group;
    private final List<EventLoopDevicePoller> pollers;

    private RdmaEventLoopGroupStatistics(
            EventLoopGroup group, List<EventLoopDevicePoller> pollers) {
        this.group = group;
        this.pollers = pollers;
    }

    /**
     * The statistics of a group. Those of the same group are equal.
     *
     * @param group not yet terminated
     * @return its statistics, also valid after its end
     * @throws IllegalArgumentException when the group takes no RDMA channels
     */
    public static RdmaEventLoopGroupStatistics of(EventLoopGroup group) {
        List<EventLoopDevicePoller> pollers = new ArrayList<>();
        for (EventExecutor loop : checkNotNull(group, "group")) {
            EventLoopDevicePoller poller = EventLoopPollerRegistry.of((EventLoop) loop);
            if (poller == null) {
                throw new IllegalArgumentException(
                        "group: "
                                + group
                                + " has event loops of another transport (expected: an"
                                + " RdmaEventLoopGroup, or with Netty 4.2 a"
                                + " MultiThreadIoEventLoopGroup with RdmaIoHandler.newFactory())");
            }
            pollers.add(poller);
        }
        return new RdmaEventLoopGroupStatistics(group, List.copyOf(pollers));
    }

    /**
     * The sum of a counter over all loops, including terminated ones.
     *
     * @param counter which one
     * @return from 0; -1 when the device does not count it
     */
    public long value(RdmaCounter counter) {
        long sum = 0;
        for (EventLoopDevicePoller poller : pollers) {
            long value = poller.value(counter);
            if (value < 0) {
                return -1;
            }
            sum += value;
        }
        return sum;
    }

    /**
     * {@return the posted receives of all {@linkplain RdmaChannel channels} of the group, exact to a small batch for
     * each channel}
     */
    public long postedReceives() {
        return pollers.stream().mapToLong(poller -> poller.receives().posted()).sum();
    }

    /** {@return the {@linkplain RdmaStreamChannel streams} that are connected} */
    public long openStreams() {
        return pollers.stream().mapToLong(poller -> poller.streams().open()).sum();
    }

    /** {@return the streams that have shut down their output, and still receive} */
    public long streamsWithoutOutput() {
        return pollers.stream().mapToLong(poller -> poller.streams().outputEnded()).sum();
    }

    /** {@return the streams whose peer has shut down its output, and that may still send} */
    public long streamsWithoutInput() {
        return pollers.stream().mapToLong(poller -> poller.streams().inputEnded()).sum();
    }

    /** {@return the streams whose flushed bytes wait for a credit of the peer, or for room in its receive buffer} */
    public long waitingStreams() {
        return pollers.stream().mapToLong(poller -> poller.streams().waiting()).sum();
    }

    /** {@return the credits that the peers of all streams have left: DATA messages that may be sent now} */
    public long streamCredits() {
        return pollers.stream().mapToLong(poller -> poller.streams().credits()).sum();
    }

    /** {@return the registered channels of all loops: connections and listeners} */
    public int registeredChannels() {
        return pollers.stream().mapToInt(EventLoopDevicePoller::registeredChannels).sum();
    }

    /** {@return the bytes of registered memory of the loops, in use or cached} */
    public long registeredBytes() {
        return pollers.stream().mapToLong(poller -> poller.pool.bytes()).sum();
    }

    /** {@return the bytes of registered memory in use by buffers} */
    public long registeredBytesInUse() {
        return pollers.stream().mapToLong(poller -> poller.pool.lentBytesLately()).sum();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RdmaEventLoopGroupStatistics that && that.group == group;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(group);
    }

    /** The group. */
    @Override
    public String toString() {
        return "RdmaEventLoopGroupStatistics(" + group + ')';
    }
}
