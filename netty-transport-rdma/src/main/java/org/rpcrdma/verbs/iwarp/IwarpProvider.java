// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.util.Objects;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * The software RNIC: iWARP over TCP sockets, in Java. Works everywhere, and with every iWARP peer: the Linux kernel's
 * soft-iWARP, hardware, and itself.
 */
public final class IwarpProvider implements VerbsProvider {

    /** The name of this provider. */
    public static final String NAME = "iwarp";

    private final IwarpConfig config;

    /** A provider with the {@linkplain IwarpConfig#defaults() default settings}. */
    public IwarpProvider() {
        this(IwarpConfig.defaults());
    }

    /**
     * A provider with settings of its own.
     *
     * @param config for all contexts
     */
    public IwarpProvider(IwarpConfig config) {
        this.config = Objects.requireNonNull(config, "config");
    }

    @Override
    public String name() {
        return NAME;
    }

    /** 0: a device in hardware goes before it. */
    @Override
    public int priority() {
        return 0;
    }

    @Override
    public Throwable unavailabilityCause() {
        return Availability.CAUSE;
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        return new IwarpContext(config);
    }

    @Override
    public String toString() {
        return "IwarpProvider(" + config + ')';
    }

    /** Tried once, when first asked. */
    @SuppressWarnings("StaticAssignmentOfThrowable") // asked for often, never thrown itself
    private static final class Availability {

        static final Throwable CAUSE = probe();

        private static Throwable probe() {
            try {
                new IwarpContext(IwarpConfig.defaults()).close();
                return null;
            } catch (IOException | RuntimeException e) {
                return e;
            }
        }
    }
}
