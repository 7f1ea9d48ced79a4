// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.verbs.RdmaProvider;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Tries what DiSNI needs, step by step. Loaded only when DiSNI is on the class path. */
final class Probe {

    private Probe() {}

    static Throwable findMissing() {
        try {
            MemoryUtils.getAddress(ByteBuffer.allocateDirect(1));
        } catch (IllegalAccessError e) {
            return new IllegalStateException(
                    "the JVM keeps an internal package from DiSNI; start it with --add-exports"
                            + " java.base/sun.nio.ch=ALL-UNNAMED",
                    e);
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
            DisniContexts.open(DisniConfig.defaults()).close();
            return null;
        } catch (IOException | RuntimeException e) {
            return new IllegalStateException(
                    "there is no usable RDMA device: " + String.valueOf(e.getMessage()).strip(), e);
        }
    }
}
