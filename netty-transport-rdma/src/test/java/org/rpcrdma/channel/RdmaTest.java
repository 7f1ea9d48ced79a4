// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;

class RdmaTest {

    private record Provider(String name, Throwable unavailabilityCause) implements VerbsProvider {
        @Override
        public int priority() {
            return 0;
        }

        @Override
        public EventLoopVerbsContext open() {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void theChoiceSaysInShortWhatBetterOnesLack() {
        Provider first =
                new Provider("first", new UnsatisfiedLinkError("no library (there); add one"));
        Provider second =
                new Provider("second", new IllegalStateException("no device; plug one in"));
        Provider third = new Provider("third", null);
        Provider fourth = new Provider("fourth", new IllegalStateException("not asked"));
        List<VerbsProvider> all = List.of(first, second, third, fourth);
        assertThat(Rdma.choice(third, all))
                .isEqualTo(
                        "RDMA provider: third, ready to use; not in use: first (no library), second"
                                + " (no device)");
        assertThat(Rdma.choice(third, List.of(third, fourth)))
                .isEqualTo("RDMA provider: third, ready to use");
    }
}
