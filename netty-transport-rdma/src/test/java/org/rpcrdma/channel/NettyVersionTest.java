// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.Version;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The tests of the channels run on more than one Netty, as the build says; this says on which. */
class NettyVersionTest {

    private static final String EXPECTED = "netty.expected";

    @Test
    @EnabledIfSystemProperty(named = EXPECTED, matches = ".+")
    void nettyIsTheOneThatIsMeant() {
        assertThat(Version.identify().values())
                .extracting(Version::artifactVersion)
                .contains(System.getProperty(EXPECTED))
                .hasSizeGreaterThan(3)
                .containsOnly(System.getProperty(EXPECTED));
    }
}
