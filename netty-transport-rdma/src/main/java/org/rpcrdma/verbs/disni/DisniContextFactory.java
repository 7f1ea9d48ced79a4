// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.io.IOException;
import org.rpcrdma.verbs.hardware.HardwareEventLoopContext;
import org.rpcrdma.verbs.hardware.ProviderSettings;

/** Opens contexts. Loaded only when DiSNI is on the class path. */
final class DisniContextFactory {

    private DisniContextFactory() {}

    static HardwareEventLoopContext open(DisniConfig config) throws IOException {
        return new HardwareEventLoopContext(
                new DisniEventLoopDevice(config),
                new ProviderSettings(
                        DisniConfig.PREFIX,
                        "address",
                        config.registrationCache(),
                        config.resolveMillis()));
    }
}
