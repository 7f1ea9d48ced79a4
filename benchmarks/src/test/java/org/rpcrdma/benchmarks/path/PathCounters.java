// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Counts what instrumented methods do, for each of two threads. Not synchronized: threads of a simulation run one at a
 * time. Instrumented classes call it, from another class loader.
 */
public final class PathCounters {

    /** A method with code, or a place in it that allocates. */
    record Site(String className, String method, String type) {

        /**
         * Whether it is the entry of a method.
         *
         * @param name of its class, without the package, and of the method
         */
        private boolean isOf(String name) {
            return type == null
                    && (className + '.' + method.substring(0, method.indexOf('(')))
                            .endsWith('.' + name);
        }
    }

    /** The method whose callers are counted too, as {@code AbstractByteBuf.getInt}; {@code null} for none. */
    private static final String WATCHED = System.getProperty("path.callers");

    private static final int WATCHED_DEPTH = 3;

    /** Whether call trees are counted, which takes a walk of the stack for each entry. */
    public static final boolean HAS_TREES = System.getProperty("path.tree") != null;

    private static final List<Site> SITES = new ArrayList<>();
    private static final Map<Site, Integer> NUMBERS = new HashMap<>();

    private static final Map<Role, Map<String, Long>> CALLERS = new EnumMap<>(Role.class);
    private static final Map<Role, PathTree> TREES = new EnumMap<>(Role.class);
    private static Thread requester;
    private static Thread responder;
    private static boolean isCounting;
    private static long[][] counts = new long[2][0];

    private PathCounters() {}

    /** {@return the number of a site, which it has from now on} */
    static synchronized int number(Site site) {
        return NUMBERS.computeIfAbsent(
                site,
                added -> {
                    SITES.add(added);
                    return SITES.size() - 1;
                });
    }

    static List<Site> sites() {
        return SITES;
    }

    /** {@return how often each site was passed, or how many bytes were allocated, by number} */
    static long[] counts(Role role) {
        return counts[role == Role.REQUESTER ? 0 : 1];
    }

    /**
     * Counts from now on.
     *
     * @param ofRequester the thread of one end
     * @param ofResponder the thread of the other end
     */
    public static void start(Thread ofRequester, Thread ofResponder) {
        requester = ofRequester;
        responder = ofResponder;
        counts = new long[2][SITES.size() + 10_000];
        CALLERS.put(Role.REQUESTER, new HashMap<>());
        CALLERS.put(Role.RESPONDER, new HashMap<>());
        TREES.put(Role.REQUESTER, new PathTree());
        TREES.put(Role.RESPONDER, new PathTree());
        isCounting = true;
    }

    /** Ends the count. */
    public static void stop() {
        isCounting = false;
    }

    /**
     * Called by instrumented code: a method is entered, or an object of the site's type is made.
     *
     * @param site its number
     */
    public static void pass(int site) {
        add(site, 1);
    }

    /**
     * Called by instrumented code: an array is made.
     *
     * @param length of the array
     * @param site its number
     * @param shift of the length of its elements
     */
    public static void passArray(int length, int site, int shift) {
        add(site, ObjectSizes.array(length, shift));
    }

    private static void add(int site, int amount) {
        if (!isCounting) {
            return;
        }
        Thread thread = Thread.currentThread();
        if (thread == requester) {
            counts[0][site] += amount;
        } else if (thread == responder) {
            counts[1][site] += amount;
        } else {
            return;
        }
        if (HAS_TREES && SITES.get(site).type() == null) {
            TREES.get(thread == requester ? Role.REQUESTER : Role.RESPONDER).enter();
        }
        if (WATCHED != null && SITES.get(site).isOf(WATCHED)) {
            watch(thread == requester ? Role.REQUESTER : Role.RESPONDER);
        }
    }

    /** Whoever has entered the watched method, and who has called him, as far as they are not Netty's buffers. */
    private static void watch(Role role) {
        String callers =
                StackWalker.getInstance()
                        .walk(
                                frames ->
                                        frames.skip(4)
                                                .filter(PathCounters::isTold)
                                                .limit(WATCHED_DEPTH)
                                                .map(PathCounters::tell)
                                                .collect(Collectors.joining(" < ")));
        CALLERS.get(role).merge(callers, 1L, Long::sum);
    }

    private static boolean isTold(StackWalker.StackFrame frame) {
        return !frame.getClassName().startsWith("io.netty.buffer.");
    }

    private static String tell(StackWalker.StackFrame frame) {
        String className = frame.getClassName();
        return className.substring(className.lastIndexOf('.') + 1) + '.' + frame.getMethodName();
    }

    /** {@return who has entered the method of the property {@code path.callers}, and how often in all} */
    static Map<String, Long> callers(Role role) {
        return CALLERS.get(role);
    }

    /** {@return the call tree; empty unless {@link #HAS_TREES}} */
    static PathTree tree(Role role) {
        return TREES.get(role);
    }
}
