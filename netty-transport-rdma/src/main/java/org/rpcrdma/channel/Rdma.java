// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.rpcrdma.verbs.VerbsProvider;

/** Entry point to the RDMA providers on the class path: availability and selection. */
public final class Rdma {

    private static final InternalLogger logger = InternalLoggerFactory.getInstance(Rdma.class);

    /** The most broken providers to skip before giving up the search. */
    private static final int MAX_FAILURES = 100;

    /** All providers on the class path, the preferred one first. */
    private static final List<VerbsProvider> PROVIDERS = load();

    /** Start of the details, or of the advice, in the message of an unavailable provider. */
    private static final Pattern DETAILS = Pattern.compile(";| \\(");

    private static final AtomicBoolean isChoiceTold = new AtomicBoolean();

    private Rdma() {}

    private static List<VerbsProvider> load() {
        List<VerbsProvider> providers = new ArrayList<>();
        ServiceLoader<VerbsProvider> loader =
                ServiceLoader.load(VerbsProvider.class, VerbsProvider.class.getClassLoader());
        Iterator<VerbsProvider> all = loader.iterator();
        // A provider that cannot be loaded, by this Java version or at all, must not hide the
        // others.
        for (int failures = 0; failures < MAX_FAILURES; ) {
            try {
                if (!all.hasNext()) {
                    break;
                }
                providers.add(all.next());
            } catch (ServiceConfigurationError | LinkageError e) {
                failures++;
                logger.debug("An RDMA provider cannot be loaded", e);
            }
        }
        providers.sort(Comparator.comparingInt(VerbsProvider::priority).reversed());
        logger.debug("RDMA providers: {}", providers);
        return List.copyOf(providers);
    }

    /** {@return all providers on the class path, available or not, the preferred one first} */
    public static List<VerbsProvider> providers() {
        return PROVIDERS;
    }

    /** {@return whether any provider is available} */
    public static boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** {@return why {@link #isAvailable()} is false; {@code null} when it is true} */
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
     * {@return the provider that {@code -Dorg.rpcrdma.provider} names, otherwise the available one with the highest
     * priority}
     *
     * @throws IllegalArgumentException if no provider has that name
     * @throws UnsatisfiedLinkError if the provider, or every provider, is unavailable
     */
    public static VerbsProvider provider() {
        String named = SystemPropertyUtil.get("org.rpcrdma.provider");
        if (named != null) {
            return provider(named);
        }
        ensureAvailability();
        VerbsProvider chosen =
                PROVIDERS.stream().filter(VerbsProvider::isAvailable).findFirst().orElseThrow();
        if (!isChoiceTold.getAndSet(true)) {
            logger.info("{}", choice(chosen, PROVIDERS));
            PROVIDERS.stream()
                    .takeWhile(provider -> provider != chosen)
                    .forEach(
                            better ->
                                    logger.debug(
                                            "{}: not in use",
                                            better,
                                            better.unavailabilityCause()));
        }
        return chosen;
    }

    /**
     * Describes the chosen provider, and why those with higher priority are unavailable, so that the log explains why
     * hardware is not used.
     */
    static String choice(VerbsProvider chosen, List<VerbsProvider> bestFirst) {
        String text = "RDMA provider: " + chosen.name() + ", ready to use";
        List<VerbsProvider> better = bestFirst.subList(0, bestFirst.indexOf(chosen));
        return better.isEmpty()
                ? text
                : better.stream()
                        .map(other -> other.name() + " (" + lack(other) + ')')
                        .collect(Collectors.joining(", ", text + "; not in use: ", ""));
    }

    /** Why a provider is unavailable, without the advice, which only {@link #unavailabilityCause} gives. */
    private static String lack(VerbsProvider provider) {
        return DETAILS.split(provider.unavailabilityCause().getMessage(), 2)[0];
    }

    /**
     * The provider of that name.
     *
     * @param name see {@link VerbsProvider#name()}
     * @return the provider, which is available
     * @throws IllegalArgumentException if no provider has that name
     * @throws UnsatisfiedLinkError if the provider is unavailable
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
