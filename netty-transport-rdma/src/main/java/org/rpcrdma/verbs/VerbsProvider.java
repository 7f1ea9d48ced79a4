// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.io.IOException;

/**
 * A kind of RDMA device, found with {@link java.util.ServiceLoader}.
 *
 * <p>The availability trio follows Netty's idiom: it is computed once, really tries the device and never throws from
 * {@link #isAvailable()}.
 */
public interface VerbsProvider {

    /** {@return the name by which a user asks for this provider, for example {@code iwarp}} */
    String name();

    /**
     * {@return the rank of this provider} The available provider with the highest rank is the default.
     */
    int priority();

    /** {@return whether {@link #open()} can work on this machine} */
    default boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** {@return why {@link #isAvailable()} is false, one sentence in its message; {@code null} when it is true} */
    Throwable unavailabilityCause();

    /**
     * Makes sure that the provider is available.
     *
     * @throws UnsatisfiedLinkError with the {@link #unavailabilityCause()} when it is not
     */
    default void ensureAvailability() {
        Throwable cause = unavailabilityCause();
        if (cause != null) {
            throw (Error)
                    new UnsatisfiedLinkError(
                                    "RDMA provider '"
                                            + name()
                                            + "' is not available: "
                                            + cause.getMessage())
                            .initCause(cause);
        }
    }

    /**
     * Opens a context for one event loop.
     *
     * @return the context; the thread that polls it closes it
     * @throws IOException when the device cannot be opened
     */
    EventLoopVerbsContext open() throws IOException;
}
