// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.rpcrdma.verbs.VerbsProvider;

/** Tells whether, and through which provider, this transport can run here. */
public final class Rdma {

    private static final InternalLogger logger = InternalLoggerFactory.getInstance(Rdma.class);

    /** All providers on the class path, the preferred one first. */
    private static final List<VerbsProvider> PROVIDERS = load();

    private Rdma() {}

    private static List<VerbsProvider> load() {
        List<VerbsProvider> providers = new ArrayList<>();
        ServiceLoader<VerbsProvider> loader =
                ServiceLoader.load(VerbsProvider.class, VerbsProvider.class.getClassLoader());
        loader.stream()
                .forEach(
                        entry -> {
                            try {
                                providers.add(entry.get());
                            } catch (ServiceConfigurationError | LinkageError e) {
                                logger.debug("RDMA provider {} cannot be loaded", entry.type(), e);
                            }
                        });
        providers.sort(Comparator.comparingInt(VerbsProvider::priority).reversed());
        logger.debug("RDMA providers: {}", providers);
        return List.copyOf(providers);
    }

    /** Whether any provider is available. */
    public static boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** Why {@link #isAvailable()} is false; {@code null} when it is true. */
    public static Throwable unavailabilityCause() {
        Throwable cause = new IllegalStateException("no RDMA provider on the class path");
        for (VerbsProvider provider : PROVIDERS) {
            if (provider.isAvailable()) {
                return null;
            }
            cause = provider.unavailabilityCause();
        }
        return cause;
    }

    /**
     * Makes sure that some provider is available.
     *
     * @throws UnsatisfiedLinkError with the {@link #unavailabilityCause()} otherwise
     */
    public static void ensureAvailability() {
        Throwable cause = unavailabilityCause();
        if (cause != null) {
            throw (Error)
                    new UnsatisfiedLinkError("no RDMA provider is available: " + cause.getMessage())
                            .initCause(cause);
        }
    }

    /**
     * The provider that {@code -Dorg.rpcrdma.provider} names, otherwise the available one with the highest priority.
     *
     * @throws IllegalArgumentException when there is none of that name
     * @throws UnsatisfiedLinkError when it, or any, is not available
     */
    public static VerbsProvider provider() {
        String named = SystemPropertyUtil.get("org.rpcrdma.provider");
        if (named != null) {
            return provider(named);
        }
        ensureAvailability();
        return PROVIDERS.stream().filter(VerbsProvider::isAvailable).findFirst().orElseThrow();
    }

    /**
     * The provider of that name.
     *
     * @throws IllegalArgumentException when there is none
     * @throws UnsatisfiedLinkError when it is not available
     */
    public static VerbsProvider provider(String name) {
        for (VerbsProvider provider : PROVIDERS) {
            if (provider.name().equals(name)) {
                provider.ensureAvailability();
                return provider;
            }
        }
        throw new IllegalArgumentException(
                "RDMA provider: "
                        + name
                        + " (expected: one of "
                        + PROVIDERS.stream().map(VerbsProvider::name).toList()
                        + ")");
    }
}
