// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.util.function.UnaryOperator;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.VerbsProvider;

/** The provider of the tests, whose devices say something else of themselves. */
final class ChangedDevice {

    private ChangedDevice() {}

    static VerbsProvider of(UnaryOperator<DeviceCapabilities.Builder> change) {
        return InterceptedDevice.of(
                call ->
                        call.name().equals("capabilities")
                                ? change.apply(((DeviceCapabilities) call.proceed()).toBuilder())
                                        .build()
                                : call.proceed());
    }
}
