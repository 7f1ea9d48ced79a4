// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.specification;

import java.util.List;

/**
 * A protocol as a machine with a bounded number of states.
 *
 * @param <S> a state; equal ones are one
 * @param <A> what may happen
 */
public interface Specification<S, A> {

    /** {@return where all begins} */
    S initial();

    /** {@return all that may happen in a state, in a fixed order} */
    List<A> actions(S state);

    /** {@return the state behind an action, which is one of {@link #actions}} */
    S after(S state, A action);

    /** {@return the invariants that a state breaks} */
    List<? extends Enum<?>> violations(S state);
}
