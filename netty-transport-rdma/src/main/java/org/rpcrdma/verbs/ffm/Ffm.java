// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.rpcrdma.Experimental;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/**
 * Availability of RDMA hardware through libibverbs and librdmacm, called by the JDK itself, and the reason if
 * unavailable. The classes that call them are for Java 22 and newer, and are not touched before.
 */
@Experimental
public final class Ffm {

    /** The first Java that can call libraries by itself. */
    private static final int LEAST_JAVA = 22;

    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    private Ffm() {}

    /** Factory implemented by the classes for newer Java. */
    interface Entrance {

        /** The first thing that is missing, or {@code null}. */
        Throwable findMissing(FfmConfig config);

        EventLoopVerbsContext open(FfmConfig config) throws IOException;
    }

    /**
     * {@return whether Java, its flag, the libraries, the kernel's module and a device are there} Tried once, when
     * first asked.
     */
    public static boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** {@return why this provider is unavailable, in one sentence; {@code null} if available} */
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
                    new UnsatisfiedLinkError("libibverbs is not available: " + cause.getMessage())
                            .initCause(cause);
        }
    }

    static Entrance entrance() throws ReflectiveOperationException {
        return Class.forName(Ffm.class.getPackageName() + ".FfmProviderFactory")
                .asSubclass(Entrance.class)
                .getDeclaredConstructor()
                .newInstance();
    }

    @SuppressWarnings("StaticAssignmentOfThrowable") // asked for often, never thrown itself
    private static final class Availability {

        static final Throwable CAUSE = find();

        /** The first failing step gives the reason; later steps depend on earlier ones, and cost more. */
        private static Throwable find() {
            if (!System.getProperty("os.name").equals("Linux")
                    || !System.getProperty("sun.arch.data.model", "64").equals("64")
                    || ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
                return new IllegalStateException(
                        "it takes Linux on a 64-bit little-endian machine, this is "
                                + System.getProperty("os.name")
                                + " on "
                                + System.getProperty("os.arch"));
            }
            if (Runtime.version().feature() < LEAST_JAVA) {
                return new IllegalStateException(
                        "it takes Java "
                                + LEAST_JAVA
                                + " or newer, this is "
                                + Runtime.version().feature()
                                + "; DiSNI is for older ones");
            }
            if (!hasDevices()) {
                return new IllegalStateException(
                        "this machine has no RDMA device (" + DEVICES + " is empty)");
            }
            try {
                return entrance().findMissing(FfmConfig.defaults());
            } catch (ClassNotFoundException e) {
                return new IllegalStateException(
                        "this netty-transport-rdma was built without it, by a JDK before "
                                + LEAST_JAVA,
                        e);
            } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
                return new IllegalStateException("libibverbs cannot be called: " + e, e);
            }
        }

        private static boolean hasDevices() {
            try (Stream<Path> devices = Files.list(DEVICES)) {
                return devices.findAny().isPresent();
            } catch (IOException e) {
                return false;
            }
        }
    }
}
