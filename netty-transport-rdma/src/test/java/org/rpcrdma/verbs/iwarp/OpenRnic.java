// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.memory.EveryStream;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;

/** A software RNIC whose memory regions may be open to all peers, as those of hardware are. */
public final class OpenRnic {

    private final IwarpContext context;
    private final EveryStream everyStream = new EveryStream();

    public OpenRnic(IwarpConfig config) throws IOException {
        context = new IwarpContext(config);
    }

    public EventLoopVerbsContext context() {
        return context;
    }

    /** Exposes a range to the peer of one queue pair, at its own addresses, as hardware does. */
    public int expose(
            QueuePair queuePair, MemoryRegion region, long address, int length, int access) {
        return EveryStream.exposeInPlace(
                context.loop.stags,
                ((IwarpQueuePair) queuePair).exposures(),
                (IwarpMemoryRegion) region,
                address,
                length,
                access);
    }

    /** Opens a region to all peers until it is deregistered. */
    public int open(MemoryRegion region, int access) {
        return everyStream.expose(context.loop.stags, (IwarpMemoryRegion) region, access);
    }
}
