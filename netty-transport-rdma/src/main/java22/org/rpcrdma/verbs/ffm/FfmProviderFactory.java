// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.util.function.Supplier;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.hardware.HardwareEventLoopContext;
import org.rpcrdma.verbs.hardware.ProviderSettings;

/** Entry point for {@link Ffm}: loaded by name, only on a supported JVM. */
final class FfmProviderFactory implements Ffm.Entrance {

    private static final String PACKAGES =
            "; install libibverbs1, librdmacm1 and ibverbs-providers"
                    + " (rdma-core and libibverbs elsewhere)";

    @Override
    public EventLoopVerbsContext open(FfmConfig config) throws IOException {
        return open(config, Downcalls::new);
    }

    /** Over any library. */
    static EventLoopVerbsContext open(FfmConfig config, Supplier<NativeFunctions> libraries)
            throws IOException {
        return new HardwareEventLoopContext(
                new FfmEventLoopDevice(config, libraries),
                new ProviderSettings(
                        FfmConfig.PREFIX,
                        "device",
                        config.registrationCache(),
                        config.resolveMillis()));
    }

    @Override
    public Throwable findMissing(FfmConfig config) {
        if (!FfmProviderFactory.class.getModule().isNativeAccessEnabled()) {
            return new IllegalStateException(
                    "the JVM lets no library be called; start it with"
                            + " --enable-native-access=ALL-UNNAMED");
        }
        for (String name : new String[] {Downcalls.LIBIBVERBS, Downcalls.LIBRDMACM}) {
            try {
                Downcalls.library(name);
            } catch (IllegalArgumentException e) {
                return new IllegalStateException(name + " is not installed" + PACKAGES, e);
            }
        }
        return findMissing(config, new Downcalls());
    }

    static Throwable findMissing(FfmConfig config, NativeFunctions library) {
        long channel = library.createEventChannel();
        if (channel == 0) {
            int number = library.errno();
            return new IllegalStateException(
                    switch (number) {
                        case Errno.ENODEV, Errno.ENOENT ->
                                "the connection manager of RDMA is not there; 'modprobe rdma_ucm',"
                                        + " and see 'rdma link'";
                        case Errno.EACCES, Errno.EPERM ->
                                "this user may not open /dev/infiniband; see 'ls -l"
                                        + " /dev/infiniband'";
                        default -> "rdma_create_event_channel failed: " + Errno.text(number);
                    });
        }
        library.destroyEventChannel(channel);
        try {
            FfmLocalDevice.open(library, config.device()).close(library);
            return null;
        } catch (IOException e) {
            return new IllegalStateException(e.getMessage(), e);
        }
    }
}
