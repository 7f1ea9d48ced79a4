// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;
import java.util.function.Predicate;

/**
 * A specification whose internal steps are taken at once: a test that works one end and the network by hand cannot keep
 * the other end from them.
 *
 * @param <S> a state
 * @param <A> what may happen
 */
final class PromptSpecification<S, A> implements Specification<S, A> {

    private final Specification<S, A> all;
    private final Predicate<A> isInternal;

    PromptSpecification(Specification<S, A> all, Predicate<A> isInternal) {
        this.all = all;
        this.isInternal = isInternal;
    }

    @Override
    public S initial() {
        return all.initial();
    }

    @Override
    public List<A> actions(S state) {
        return all.actions(state);
    }

    @Override
    public S after(S state, A action) {
        S settled = all.after(state, action);
        for (A next = internal(settled); next != null; next = internal(settled)) {
            settled = all.after(settled, next);
        }
        return settled;
    }

    private A internal(S state) {
        return all.actions(state).stream().filter(isInternal).findFirst().orElse(null);
    }

    @Override
    public List<? extends Enum<?>> violations(S state) {
        return all.violations(state);
    }
}
