// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PrintableTest {

    @Test
    void nothingSteersATerminal() {
        assertThat(Printable.of("a\033[2J\u009b2J\r\n\tb")).isEqualTo("a?[2J?2J???b");
        // Override of the writing direction, isolates, a line separator, half of a pair.
        assertThat(Printable.of("x\u202etxt.exe\u2066\u2028\ud800")).isEqualTo("x?txt.exe???");
        assertThat(Printable.of("grüße 日本 😀")).isEqualTo("grüße 日本 😀");
    }
}
