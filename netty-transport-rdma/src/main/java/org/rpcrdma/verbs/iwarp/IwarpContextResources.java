// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduBatchPool;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/**
 * Resources that the connections, start-ups and listeners of one context share: timers, polling, completion queue,
 * memory, staging, counters. Names none of those that use them.
 */
final class IwarpContextResources {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(IwarpContextResources.class);

    final IwarpConfig config;
    final IwarpHost host;
    final PolledEventQueue completions = new PolledEventQueue();
    final DeadlineTaskQueue timers;
    final SocketPoller poller;
    final OpenStreamRunQueue streams;
    final PausedListeners pausedListeners = new PausedListeners();
    final StagTable stags;
    final LocalKeyTable memory;
    final CRC32C crc = new CRC32C();
    final StreamErrorLog log = new StreamErrorLog();
    final IwarpCounters counters = new IwarpCounters();
    final ReceiveStagingPool staging;
    final ReceiveStagingPool wholeStaging;
    final FpduBatchPool batches;
    final FpduBatchPool markedBatches;
    final SharedMemoryNegotiation sharedWire;

    final OpenResources queuePairs = new OpenResources();

    /** Start-ups of initiators, and listeners, which close those of responders. */
    final OpenResources startups = new OpenResources();

    /** Connections whose queue pair is closed and whose last bytes are still sent. */
    final OpenResources lingering = new OpenResources();

    private final InterfaceMtuCache mtu = new InterfaceMtuCache();

    /** @param budget of all memory that streams are sent from and received into */
    IwarpContextResources(
            IwarpConfig config,
            IwarpHost host,
            DirectMemoryBudget budget,
            SharedMemoryNegotiation sharedWire)
            throws IOException {
        this.config = config;
        this.host = host;
        this.timers = new DeadlineTaskQueue(host);
        this.streams = new OpenStreamRunQueue(timers, config);
        this.staging = ReceiveStagingPool.plain(budget);
        this.wholeStaging = ReceiveStagingPool.whole(budget);
        this.batches = FpduBatchPool.plain(budget);
        this.markedBatches = FpduBatchPool.marked(budget);
        this.stags = new StagTable(config.maxExposures(), host::newSecureRandom);
        this.memory = new LocalKeyTable(stags, streams::detachAll);
        this.sharedWire = sharedWire;
        this.poller = new SocketPoller(host.sockets().openSelector(), log);
    }

    long nanoTime() {
        return host.nanoTime();
    }

    /** The byte transport of a connection: TCP, unless there is memory that both ends have mapped. */
    ByteTransport byteTransport(SocketChannel channel, SelectionKey key, SharedRingFile shared) {
        if (shared == null) {
            return new TcpByteTransport(poller.busy(), mtu, channel, key);
        }
        counters.connectionsShared++;
        LOGGER.debug("{} goes by shared memory", channel);
        return new SharedMemoryByteTransport(poller.rings(), channel, key, shared);
    }

    void add(OpenStreamRunQueueEntry stream) {
        streams.add(stream);
        counters.connectionsOpened++;
    }

    void remove(OpenStreamRunQueueEntry stream) {
        if (streams.remove(stream)) {
            counters.connectionsEnded++;
        }
    }

    void close() {
        queuePairs.closeAll();
        startups.closeAll();
        lingering.closeAll();
        staging.close();
        wholeStaging.close();
        batches.close();
        markedBatches.close();
        poller.close();
    }
}
