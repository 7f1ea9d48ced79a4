// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * On iWARP the peer is told the key of the sink and answers with tagged segments, as a write has them (RFC 5040, 4.4
 * and 4.5): devices want the right of remote writing for that. The registration for local use must not have it, because
 * the peer learns its key. So a range is registered with that right for the time of the Read, and nothing beside it.
 */
final class IwarpReadSinkKeys implements ReadSinkKeys {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(IwarpReadSinkKeys.class);

    private final MemoryRegistrar registrations;
    private final NativeRegion[] open;

    /**
     * @param ranges how many there are, numbered from 0
     */
    IwarpReadSinkKeys(MemoryRegistrar registrations, int ranges) {
        this.registrations = registrations;
        this.open = new NativeRegion[ranges];
    }

    @Override
    public int open(int range, long address, int length, int localKey) {
        if (!registrations.covers(localKey, address, length)) {
            return localKey; // for the device to refuse
        }
        try {
            open[range] =
                    registrations.register(
                            address,
                            length,
                            VerbsConstants.LOCAL_WRITE | VerbsConstants.REMOTE_WRITE);
            return open[range].localKey();
        } catch (IllegalStateException e) {
            // Some devices do without, and those that do not refuse the Read.
            logger.warn("The memory of an RDMA Read: {}", e.getMessage());
            return localKey;
        }
    }

    @Override
    public void close(int range) {
        NativeRegion region = open[range];
        if (region != null) {
            open[range] = null;
            registrations.release(region);
        }
    }
}
