// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OutcomesTest {

    private final Outcomes outcomes = new Outcomes();
    private final List<String> told = new ArrayList<>();

    private void add(String what) {
        outcomes.add(() -> told.add(what));
    }

    @Test
    void nothingIsToldBeforeTheEndOfTheEvent() {
        outcomes.begin();
        add("first");
        outcomes.begin();
        add("second");
        outcomes.end();
        assertThat(told).isEmpty();
        add("third");
        outcomes.end();
        assertThat(told).containsExactly("first", "second", "third");
    }

    @Test
    void whatComesOfTellingIsToldBehindTheRest() {
        outcomes.begin();
        outcomes.add(
                () -> {
                    outcomes.begin();
                    add("of the first");
                    outcomes.end();
                    told.add("first");
                });
        add("second");
        outcomes.end();
        assertThat(told).containsExactly("first", "second", "of the first");
    }

    @Test
    void whoeverFailsKeepsNothingFromTheOthersForLong() {
        outcomes.begin();
        outcomes.add(
                () -> {
                    throw new IllegalStateException("told");
                });
        add("second");
        assertThatThrownBy(outcomes::end).hasMessage("told");
        outcomes.begin();
        add("third");
        outcomes.end();
        assertThat(told).containsExactly("second", "third");
    }
}
