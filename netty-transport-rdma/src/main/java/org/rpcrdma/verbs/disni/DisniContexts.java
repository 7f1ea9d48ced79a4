// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import java.io.IOException;
import org.rpcrdma.verbs.hardware.HardwareConfig;
import org.rpcrdma.verbs.hardware.HardwareContext;

/** Opens contexts. Loaded only when DiSNI is on the class path. */
final class DisniContexts {

    private DisniContexts() {}

    static HardwareContext open(DisniConfig config) throws IOException {
        return new HardwareContext(
                new DisniDevice(config),
                new HardwareConfig(
                        DisniConfig.PREFIX,
                        "address",
                        config.registrationCache(),
                        config.resolveMillis()));
    }
}
