// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/** The software RNIC behind a device that fails on demand, holds events back, and keeps account of what it has lent. */
public final class FaultProvider implements VerbsProvider {

    private final VerbsProvider device;
    private final List<FaultContext> contexts = new CopyOnWriteArrayList<>();
    private volatile boolean exactExposure = true;
    private volatile boolean remoteInvalidation = true;

    /** The usual device. */
    public FaultProvider() {
        this(Rdma.provider());
    }

    /** Another device. */
    public FaultProvider(VerbsProvider device) {
        this.device = device;
    }

    /** A device without exact exposure: the handle of the whole registration is what a peer gets. */
    public FaultProvider withoutExactExposure() {
        exactExposure = false;
        return this;
    }

    /** A device that lets no peer invalidate, and does not say so when one does. */
    public FaultProvider withoutRemoteInvalidation() {
        remoteInvalidation = false;
        return this;
    }

    boolean hasRemoteInvalidation() {
        return remoteInvalidation;
    }

    boolean hasExactExposure() {
        return exactExposure;
    }

    /** The context of the only event loop. */
    public FaultContext context() {
        if (contexts.size() != 1) {
            throw new IllegalStateException(contexts.size() + " contexts (expected: 1)");
        }
        return contexts.get(0);
    }

    @Override
    public String name() {
        return "fault";
    }

    @Override
    public int priority() {
        return -1;
    }

    @Override
    public Throwable unavailabilityCause() {
        return device.unavailabilityCause();
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        FaultContext context = new FaultContext(this, device.open());
        contexts.add(context);
        return context;
    }
}
