// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeferredNotificationsTest {

    private final DeferredNotifications outcomes = new DeferredNotifications();
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
    void whoeverFailsKeepsNothingFromTheOthers() {
        outcomes.begin();
        outcomes.add(
                () -> {
                    throw new LinkageError("told");
                });
        add("second");
        outcomes.end();
        assertThat(told).containsExactly("second");
        outcomes.begin();
        add("third");
        outcomes.end();
        assertThat(told).containsExactly("second", "third");
    }
}
