// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** Memory windows are used where a device has them and nothing is known against them. */
class WindowChoiceTest {

    private static boolean hasWindows(SoftwareKernel.Kind kind, boolean deviceHas, Boolean said)
            throws IOException {
        FfmConfig config = new FfmConfig(null, 1024, 0, 2000, said);
        try (EventLoopVerbsContext context =
                FfmProviderFactory.open(config, () -> new SoftwareLibrary(kind, deviceHas))) {
            return context.capabilities().remoteInvalidation();
        }
    }

    @Test
    void unlessSomethingIsSaidTheDeviceIsAsked() throws IOException {
        assertThat(hasWindows(SoftwareKernel.Kind.IWARP, true, null)).isTrue();
        assertThat(hasWindows(SoftwareKernel.Kind.IWARP, false, null)).isFalse();
        assertThat(hasWindows(SoftwareKernel.Kind.IWARP, true, false)).isFalse();
    }

    @Test
    void softRoceHasThemForThoseWhoSaySo() throws IOException {
        assertThat(hasWindows(SoftwareKernel.Kind.ROCE, true, null)).isFalse();
        assertThat(hasWindows(SoftwareKernel.Kind.ROCE, true, true)).isTrue();
        assertThat(hasWindows(SoftwareKernel.Kind.ROCE, false, true)).isFalse();
    }
}
