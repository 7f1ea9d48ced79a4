// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

/** Availability of RDMA hardware through DiSNI, and the reason if unavailable. */
public final class Disni {

    private Disni() {}

    /**
     * {@return whether DiSNI, the JVM flag that it needs, {@code libdisni} and a device are there} Tried once, when
     * first asked.
     */
    public static boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** {@return why DiSNI is unavailable, in one sentence; {@code null} if available} */
    public static Throwable unavailabilityCause() {
        return Availability.CAUSE;
    }

    /**
     * Makes sure that nothing is missing.
     *
     * @throws UnsatisfiedLinkError with the {@link #unavailabilityCause()} otherwise
     */
    public static void ensureAvailability() {
        Throwable cause = unavailabilityCause();
        if (cause != null) {
            throw (Error)
                    new UnsatisfiedLinkError("DiSNI is not available: " + cause.getMessage())
                            .initCause(cause);
        }
    }

    @SuppressWarnings("StaticAssignmentOfThrowable") // asked for often, never thrown itself
    private static final class Availability {

        static final Throwable CAUSE = find();

        /** The first failing step gives the reason; later steps depend on earlier ones. */
        private static Throwable find() {
            try {
                Class.forName(
                        "com.ibm.disni.verbs.RdmaProvider", false, Disni.class.getClassLoader());
                Class.forName("org.slf4j.Logger", false, Disni.class.getClassLoader());
            } catch (ClassNotFoundException | LinkageError e) {
                return new IllegalStateException(
                        "DiSNI is not on the class path (no class "
                                + e.getMessage()
                                + "); add com.ibm.disni:disni:2.1 and org.slf4j:slf4j-api",
                        e);
            }
            return DisniAvailabilityProbe.findMissing();
        }
    }
}
