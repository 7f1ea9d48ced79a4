// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import java.io.IOException;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** The device that event loops take when none is named to them, which {@code -Dorg.rpcrdma.provider} decides. */
public final class Device {

    private static DeviceCapabilities capabilities;

    private Device() {}

    private static synchronized DeviceCapabilities capabilities() {
        if (capabilities == null) {
            try (EventLoopVerbsContext context = Rdma.provider().open()) {
                capabilities = context.capabilities();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        return capabilities;
    }

    /** Whether it has a flag of {@link DeviceCapabilities}, by name. */
    public static boolean can(String flag) {
        try {
            return (boolean) DeviceCapabilities.class.getMethod(flag).invoke(capabilities());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("no flag of DeviceCapabilities: " + flag, e);
        }
    }
}
