// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.util.DiSNILogger;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaProvider;
import com.ibm.disni.verbs.RdmaVerbs;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/**
 * A provider for DiSNI that needs no hardware, no {@code libdisni} and no privileges: its device is the software RNIC,
 * which has every local IPv4 address and speaks iWARP with every peer. Loses what DiSNI loses: private data on accept
 * and in events, the reason of a rejection.
 *
 * <p>What a real device would punish, such as destroying things in the wrong order, is written down: see
 * {@link #problems()}.
 */
public final class SoftwareRdmaProvider extends RdmaProvider {

    private static SoftwareRdmaProvider installed;

    private final SoftwareDevice device = new SoftwareDevice(this);
    private final SoftwareCm cm = new SoftwareCm(device);
    private final SoftwareVerbs verbs = new SoftwareVerbs(device);
    private final List<String> problems = new CopyOnWriteArrayList<>();
    private volatile UnaryOperator<EventType> eventFilter = UnaryOperator.identity();
    private volatile boolean completionsAreLost;
    private volatile boolean notificationsFail;
    private volatile boolean completionsAreLeft;
    private volatile boolean deregistrationsFail;
    private volatile long memoryLimit = Long.MAX_VALUE;

    private SoftwareRdmaProvider() throws IOException {}

    /**
     * Makes DiSNI use this provider in the whole JVM, for good.
     *
     * @throws IllegalStateException when DiSNI uses another one already, or is not as expected
     */
    public static synchronized SoftwareRdmaProvider install() {
        if (installed == null) {
            try {
                SoftwareRdmaProvider made = new SoftwareRdmaProvider();
                Field provider = RdmaProvider.class.getDeclaredField("provider");
                provider.setAccessible(true);
                if (provider.get(null) != null) {
                    throw new IllegalStateException(
                            "DiSNI uses "
                                    + provider.get(null)
                                    + " already; install the software provider before DiSNI is"
                                    + " first used");
                }
                replaceAffinity();
                provider.set(null, made);
                installed = made;
            } catch (IOException | ReflectiveOperationException e) {
                throw new IllegalStateException("DiSNI is not as version 2.1: " + e, e);
            }
        }
        return installed;
    }

    /** The class that is loaded first is that of this library, wherever it stands on the class path. */
    private static void replaceAffinity() throws IOException, IllegalAccessException {
        URL own = SoftwareRdmaProvider.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {own}, null);
                InputStream bytes =
                        loader.getResourceAsStream("com/ibm/disni/util/NativeAffinity.class")) {
            MethodHandles.privateLookupIn(DiSNILogger.class, MethodHandles.lookup())
                    .defineClass(bytes.readAllBytes());
        } catch (LinkageError e) {
            // It is loaded already.
        }
    }

    /** What was done in a way that a real device does not forgive. */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    /** Forgets what was written down so far. */
    public void forgetProblems() {
        problems.clear();
    }

    void problem(String problem) {
        problems.add(problem);
    }

    /**
     * Lets connection events be others than they would; {@code null} from the filter drops one. For tests of faults.
     */
    public void filterEvents(UnaryOperator<EventType> filter) {
        eventFilter = filter;
    }

    EventType filtered(EventType event) {
        return eventFilter.apply(event);
    }

    /** The most bytes that can be registered at a time, as by {@code RLIMIT_MEMLOCK}. */
    public void limitMemory(long bytes) {
        memoryLimit = bytes;
    }

    /** Whether nothing completes any more, as when the device is gone. */
    public void loseCompletions(boolean lost) {
        completionsAreLost = lost;
    }

    /** Whether waiting for a completion fails. */
    public void failNotifications(boolean failing) {
        notificationsFail = failing;
    }

    /**
     * Whether what a destroyed queue pair has flushed stays in its completion queue, as with soft-iWARP and soft-RoCE.
     */
    public void leaveCompletions(boolean left) {
        completionsAreLeft = left;
    }

    /** Whether ending a registration is reported to have failed, as when the device is unplugged. */
    public void failDeregistrations(boolean failing) {
        deregistrationsFail = failing;
    }

    boolean leavesCompletions() {
        return completionsAreLeft;
    }

    boolean failsDeregistrations() {
        return deregistrationsFail;
    }

    boolean failsNotifications() {
        return notificationsFail;
    }

    boolean losesCompletions() {
        return completionsAreLost;
    }

    long memoryLimit() {
        return memoryLimit;
    }

    /** How many there are of everything that was made and is not yet destroyed, by the name of its class. */
    public Map<String, Integer> living() {
        return new TreeMap<>(device.living);
    }

    /** The bytes that are registered. */
    public long registeredBytes() {
        return device.registeredBytes();
    }

    @Override
    public RdmaCm openCm() {
        return cm;
    }

    @Override
    public RdmaVerbs openVerbs() {
        return verbs;
    }

    /** That of {@code libdisni} for DiSNI 2.1. */
    @Override
    public int getVersion() {
        return 32;
    }
}
