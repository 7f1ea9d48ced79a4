// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * RDMA hardware, and the Linux kernel's soft-RoCE and soft-iWARP, through libibverbs and librdmacm, which Java 22 and
 * newer can call. Can be loaded by any.
 */
public final class FfmProvider implements VerbsProvider {

    /** The name of this provider. */
    public static final String NAME = "ffm";

    /** Read when it is used: a wrong system property must not keep the other providers from being found. */
    private final FfmConfig config;

    /** A provider with the {@linkplain FfmConfig#defaults() settings of the system properties}. */
    public FfmProvider() {
        this(null);
    }

    /**
     * A provider with settings of its own.
     *
     * @param config {@code null} for the settings of the system properties, when a context is opened
     */
    public FfmProvider(FfmConfig config) {
        this.config = config;
    }

    @Override
    public String name() {
        return NAME;
    }

    /** Above DiSNI, which tells less and can do less. */
    @Override
    public int priority() {
        return 20;
    }

    @Override
    public Throwable unavailabilityCause() {
        return Ffm.unavailabilityCause();
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        ensureAvailability();
        try {
            return Ffm.entrance().open(config == null ? FfmConfig.defaults() : config);
        } catch (ReflectiveOperationException e) {
            throw new IOException("The classes for Java 22 cannot be loaded", e);
        }
    }

    @Override
    public String toString() {
        return NAME;
    }
}
