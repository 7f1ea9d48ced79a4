// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RejectedExceptionTest {

    @Test
    void aReasonInWordsIsSaidAsThePeersWords() {
        assertThat(new RejectedException("rejected", "no room\0\0".getBytes(US_ASCII)))
                .hasMessage("rejected: \"no room\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\0\0", "\033[2J", "two\nlines", "not\0ended", "\u00ff"})
    void whatIsNoLineOfTextIsNotShown(String data) {
        assertThat(new RejectedException("rejected", data.getBytes(ISO_8859_1)))
                .hasMessage("rejected");
    }

    @Test
    void aLongReasonIsCutShort() {
        assertThat(new RejectedException("rejected", "x".repeat(1000).getBytes(US_ASCII)))
                .hasMessage("rejected: \"" + "x".repeat(256) + '"');
    }
}
