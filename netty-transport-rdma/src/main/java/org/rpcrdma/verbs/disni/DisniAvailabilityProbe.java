// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.RdmaProvider;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Checks the prerequisites of DiSNI step by step. Loaded only when DiSNI is on the class path. */
final class DisniAvailabilityProbe {

    private DisniAvailabilityProbe() {}

    static Throwable findMissing() {
        try {
            MemoryUtils.getAddress(ByteBuffer.allocateDirect(1));
        } catch (IllegalAccessError e) {
            return new IllegalStateException(
                    "the JVM keeps an internal package from DiSNI; start it with --add-exports"
                            + " java.base/sun.nio.ch=ALL-UNNAMED",
                    e);
        }
        if (!PlatformDependent.hasUnsafe()) {
            return new IllegalStateException(
                    "Netty has no sun.misc.Unsafe, without which DiSNI is told no addresses; take"
                            + " the provider ffm, or start the JVM with -Dio.netty.noUnsafe=false"
                            + " --sun-misc-unsafe-memory-access=allow",
                    PlatformDependent.getUnsafeUnavailabilityCause());
        }
        try {
            RdmaProvider.provider();
        } catch (LinkageError | IOException e) {
            return new IllegalStateException(
                    "libdisni.so cannot be loaded ("
                            + e.getMessage()
                            + "); install it and librdmacm, and name its directory with"
                            + " -Djava.library.path",
                    e);
        }
        try {
            DisniContextFactory.open(DisniConfig.defaults()).close();
            return null;
        } catch (IOException | RuntimeException e) {
            return new IllegalStateException(
                    "there is no usable RDMA device: " + String.valueOf(e.getMessage()).strip(), e);
        }
    }
}
