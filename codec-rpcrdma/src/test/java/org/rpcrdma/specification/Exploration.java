// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * All states of a {@link Specification}, breadth first: the path to a violation is the shortest. What comes behind a
 * violation is not looked at.
 *
 * @param <S> a state
 * @param <A> what may happen
 */
public final class Exploration<S, A> {

    /** A state is reached by an action from another one; the first is reached from none. */
    private record Reached<S, A>(S from, A by) {}

    private final Specification<S, A> specification;
    private final Map<S, Reached<S, A>> states = new LinkedHashMap<>();
    private int transitions;
    private final Map<Enum<?>, String> counterexamples = new LinkedHashMap<>();

    /** Visits all states but those behind a violation. */
    public Exploration(Specification<S, A> specification) {
        this.specification = specification;
        Deque<S> next = new ArrayDeque<>();
        S initial = specification.initial();
        states.put(initial, new Reached<>(null, null));
        next.add(initial);
        while (!next.isEmpty()) {
            S state = next.poll();
            List<? extends Enum<?>> violations = specification.violations(state);
            for (Enum<?> violation : violations) {
                if (!counterexamples.containsKey(violation)) {
                    counterexamples.put(violation, state + " after " + pathTo(state));
                }
            }
            if (!violations.isEmpty()) {
                continue;
            }
            for (A action : specification.actions(state)) {
                transitions++;
                S after = specification.after(state, action);
                if (states.putIfAbsent(after, new Reached<>(state, action)) == null) {
                    next.add(after);
                }
            }
        }
    }

    /** {@return the invariants that are broken, each with the shortest way to a state that breaks it} */
    public Map<Enum<?>, String> counterexamples() {
        return Collections.unmodifiableMap(counterexamples);
    }

    /** {@return how many states there are} */
    public int states() {
        return states.size();
    }

    /** {@return how many transitions there are} */
    public int transitions() {
        return transitions;
    }

    private List<A> pathTo(S state) {
        Deque<A> path = new ArrayDeque<>();
        for (Reached<S, A> at = states.get(state); at.from() != null; at = states.get(at.from())) {
            path.push(at.by());
        }
        return List.copyOf(path);
    }

    /**
     * {@return a walk through each transition, the same each time: to the nearest one that it has not taken, again and
     * again} From each state there has to be a way to any other one.
     */
    public List<A> tour() {
        Map<S, Deque<A>> left = new LinkedHashMap<>();
        for (S state : states.keySet()) {
            left.put(state, new ArrayDeque<>(specification.actions(state)));
        }
        List<A> tour = new ArrayList<>();
        S at = specification.initial();
        for (; ; ) {
            A action = left.get(at).poll();
            if (action != null) {
                tour.add(action);
                at = specification.after(at, action);
                continue;
            }
            List<A> way = wayToAnyOf(at, left);
            if (way == null) {
                return tour;
            }
            for (A step : way) {
                tour.add(step);
                at = specification.after(at, step);
            }
        }
    }

    private List<A> wayToAnyOf(S from, Map<S, Deque<A>> left) {
        Map<S, List<A>> ways = new LinkedHashMap<>();
        Set<S> seen = new LinkedHashSet<>(Set.of(from));
        Deque<S> next = new ArrayDeque<>(seen);
        ways.put(from, List.of());
        while (!next.isEmpty()) {
            S state = next.poll();
            List<A> way = ways.get(state);
            if (!left.get(state).isEmpty()) {
                return way;
            }
            for (A action : specification.actions(state)) {
                S after = specification.after(state, action);
                if (seen.add(after)) {
                    List<A> longer = new ArrayList<>(way);
                    longer.add(action);
                    ways.put(after, longer);
                    next.add(after);
                }
            }
        }
        return null;
    }
}
