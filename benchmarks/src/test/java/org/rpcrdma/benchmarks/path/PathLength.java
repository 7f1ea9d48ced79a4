// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.rpcrdma.benchmarks.path.PathCounters.Site;

/** Counts for one kind of call at one end: what a call takes, on average. */
final class PathLength {

    /** What happens less often is no part of a path: it falls into the calls that are counted, or not. */
    private static final int USUAL_CALLS = 100;

    /** A method, with how often a call enters it. */
    record Entries(String className, String method, double perCall) {}

    final PathTransport transport;
    final PathCall call;
    final Role role;

    /** The methods that are entered once in {@value #USUAL_CALLS} calls at least. */
    final List<Entries> methods = new ArrayList<>();

    /** Who enters the watched method, with how often in a call. */
    final Map<String, Double> callers = new HashMap<>();

    /** Whoever calls whom, with how often in a call. */
    final PathTree tree;

    /** Calls that were counted. */
    final long calls;

    private final Map<Family, Double> entries = new EnumMap<>(Family.class);
    private final Map<Family, Double> bytes = new EnumMap<>(Family.class);

    private PathLength(PathTransport transport, PathCall call, Role role, long calls) {
        this.transport = transport;
        this.call = call;
        this.role = role;
        this.calls = calls;
        this.tree = PathCounters.tree(role);
    }

    /**
     * Makes calls and counts.
     *
     * @return both roles; nothing where Netty has no Unsafe, for which its paths are other ones
     */
    static List<PathLength> measure(
            CountingClassLoader loader, PathTransport transport, PathCall call)
            throws ReflectiveOperationException {
        long[] calls = run(loader, PathWorkload.class, transport.name(), call.name());
        return of(loader, transport, call, calls);
    }

    /** As above, of READ calls that are made in one of the ways of a {@link CallerWorkload}. */
    static List<PathLength> measure(String way) throws ReflectiveOperationException {
        CountingClassLoader loader = new CountingClassLoader();
        long[] calls = run(loader, CallerWorkload.class, way);
        return of(loader, PathTransport.RDMA, PathCall.READ_4K, calls);
    }

    private static long[] run(CountingClassLoader loader, Class<?> type, String... names)
            throws ReflectiveOperationException {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            @SuppressWarnings("unchecked")
            Function<String[], long[]> workload =
                    (Function<String[], long[]>)
                            loader.loadClass(type.getName()).getConstructor().newInstance();
            return workload.apply(names);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static List<PathLength> of(
            CountingClassLoader loader, PathTransport transport, PathCall call, long[] calls)
            throws ReflectiveOperationException {
        List<PathLength> lengths = new ArrayList<>();
        for (int i = 0; i < calls.length; i++) {
            Role role = i == 0 ? Role.REQUESTER : Role.RESPONDER;
            PathLength length = new PathLength(transport, call, role, calls[i]);
            length.add(PathCounters.counts(role), loader);
            length.addCallers();
            lengths.add(length);
        }
        return lengths;
    }

    private void add(long[] counts, ClassLoader loader) throws ClassNotFoundException {
        List<Site> sites = PathCounters.sites();
        for (int i = 0; i < Math.min(sites.size(), counts.length); i++) {
            if (counts[i] == 0) {
                continue;
            }
            Site site = sites.get(i);
            Family family = Family.of(site.className());
            double perCall = (double) counts[i] / calls;
            if (site.type() == null) {
                entries.merge(family, perCall, Double::sum);
                if (counts[i] * USUAL_CALLS >= calls) {
                    methods.add(new Entries(site.className(), site.method(), perCall));
                }
            } else {
                bytes.merge(family, perCall * size(site.type(), loader), Double::sum);
            }
        }
    }

    /** Those of the method that is watched, if there is one. */
    private void addCallers() {
        PathCounters.callers(role)
                .forEach((caller, count) -> callers.put(caller, (double) count / calls));
    }

    private static int size(String type, ClassLoader loader) throws ClassNotFoundException {
        if (type.equals(PathInstrumentation.ARRAY)) {
            return 1;
        }
        if (type.startsWith(PathInstrumentation.LAMBDA)) {
            return ObjectSizes.ofLambda(
                    Integer.parseInt(type.substring(PathInstrumentation.LAMBDA.length())));
        }
        return ObjectSizes.of(Class.forName(type, false, loader));
    }

    double entries(Family family) {
        return entries.getOrDefault(family, 0.0);
    }

    double entries() {
        return entries.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    double bytes(Family family) {
        return bytes.getOrDefault(family, 0.0);
    }

    double bytes() {
        return bytes.values().stream().mapToDouble(Double::doubleValue).sum();
    }
}
