// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import java.util.concurrent.atomic.AtomicBoolean;

/** The registration of an RDMA channel, until it is cancelled. There are no operations to submit. Thread-safe. */
final class RdmaIoRegistration implements IoRegistration {

    private final AtomicBoolean isCancelled = new AtomicBoolean();

    @Override
    @SuppressWarnings("TypeParameterUnusedInFormals") // Netty's signature
    public <T> T attachment() {
        return null;
    }

    @Override
    public long submit(IoOps ops) {
        throw new UnsupportedOperationException("an RDMA channel takes no I/O operations: " + ops);
    }

    @Override
    public boolean isValid() {
        return !isCancelled.get();
    }

    @Override
    public boolean cancel() {
        return isCancelled.compareAndSet(false, true);
    }
}
