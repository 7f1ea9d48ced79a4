// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

/**
 * The provider {@code ffm} over functions that are those of libibverbs and librdmacm, on the software RNIC, under a
 * name of its own: {@code -Dorg.rpcrdma.provider=ffm-software} lets whole test suites run on it, on Java 22 and newer.
 */
public class SoftwareFfmProvider implements VerbsProvider {

    /** The name of this provider. */
    public static final String NAME = "ffm-software";

    /** What is behind it, for Java 22. */
    interface Software extends Ffm.Entrance {

        EventLoopVerbsContext open(FfmConfig config, boolean isRoce, boolean hasWindows)
                throws IOException;

        List<String> problems();

        Map<String, Integer> living();
    }

    private final boolean isRoce;
    private final boolean hasWindows;

    /** A device with memory windows. */
    public SoftwareFfmProvider() {
        this(false, true);
    }

    /**
     * @param isRoce whether it is like soft-RoCE, not like soft-iWARP
     * @param hasWindows whether there are memory windows; without, exposure is registration
     */
    public SoftwareFfmProvider(boolean isRoce, boolean hasWindows) {
        this.isRoce = isRoce;
        this.hasWindows = hasWindows;
    }

    private static Software entrance() throws ReflectiveOperationException {
        return Class.forName("org.rpcrdma.verbs.ffm.SoftwareFfm")
                .asSubclass(Software.class)
                .getDeclaredConstructor()
                .newInstance();
    }

    /** What was done in a way that a real library does not forgive; nothing where it cannot run. */
    public static List<String> problems() {
        try {
            return entrance().problems();
        } catch (ReflectiveOperationException | LinkageError e) {
            return List.of();
        }
    }

    /**
     * How many there are of everything that was made and is not yet destroyed, by kind; nothing where it cannot run.
     */
    public static Map<String, Integer> living() {
        try {
            return entrance().living();
        } catch (ReflectiveOperationException | LinkageError e) {
            return Map.of();
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    /** Below all others: taken only when it is named. */
    @Override
    public int priority() {
        return Integer.MIN_VALUE;
    }

    @Override
    public Throwable unavailabilityCause() {
        if (Runtime.version().feature() < 22) {
            return new IllegalStateException("it takes Java 22");
        }
        try {
            return entrance().findMissing(FfmConfig.defaults());
        } catch (ReflectiveOperationException | LinkageError e) {
            return e;
        }
    }

    @Override
    public EventLoopVerbsContext open() throws IOException {
        ensureAvailability();
        try {
            return entrance().open(FfmConfig.defaults(), isRoce, hasWindows);
        } catch (ReflectiveOperationException e) {
            throw new IOException(e);
        }
    }

    @Override
    public String toString() {
        return name() + (hasWindows ? "" : " without windows");
    }
}
