// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.io.IOException;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/** RDMA hardware, and the Linux kernel's soft-RoCE and soft-iWARP, through DiSNI. Can be loaded without DiSNI. */
public final class DisniProvider implements VerbsProvider {

    /** The name of this provider. */
    public static final String NAME = "disni";

    /** Read when it is used: a wrong system property must not keep the other providers from being found. */
    private final DisniConfig config;

    /** A provider with the {@linkplain DisniConfig#defaults() settings of the system properties}. */
    public DisniProvider() {
        this(null);
    }

    /**
     * A provider with settings of its own.
     *
     * @param config {@code null} for the settings of the system properties, when a context is opened
     */
    public DisniProvider(DisniConfig config) {
        this.config = config;
    }

    @Override
    public String name() {
        return NAME;
    }

    /** 10: before the software RNIC, but available only where DiSNI and all that it needs were put there on purpose. */
    @Override
    public int priority() {
        return 10;
    }

    @Override
    public Throwable unavailabilityCause() {
        return Disni.unavailabilityCause();
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        return DisniContextFactory.open(config == null ? DisniConfig.defaults() : config);
    }

    @Override
    public String toString() {
        return NAME;
    }
}
