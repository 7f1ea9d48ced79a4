// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the library has made, and nobody gets for lack of memory, is destroyed: an identifier, a queue pair. */
class HalfMadeObjectsTest {

    /** The call of the library after which the heap is exhausted. */
    private String last = "none";

    @Test
    void whatNobodyGetsIsDestroyed() throws Exception {
        SoftwareKernel kernel = SoftwareKernel.get(SoftwareKernel.Kind.ROCE);
        final Map<String, Integer> before = kernel.living();
        FfmEventLoopDevice device =
                new FfmEventLoopDevice(new FfmConfig(null, 1024, 0, 2000, false), this::newLibrary);
        last = "createId";
        assertThatThrownBy(device::newId).isInstanceOf(OutOfMemoryError.class);
        last = "createQp";
        FfmCmId id = (FfmCmId) device.newId();
        id.target(event -> {});
        id.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        assertThatThrownBy(() -> id.createQueuePair(device, 8, 8, 1))
                .isInstanceOf(OutOfMemoryError.class);
        // It takes another one, so that nothing of the first is left.
        last = "none";
        id.createQueuePair(device, 8, 8, 1).destroy();
        id.destroy();
        device.close();
        assertThat(kernel.living()).isEqualTo(before);
        assertThat(kernel.problems()).isEmpty();
    }

    /** A library whose heap is exhausted after one call. */
    private NativeFunctions newLibrary() {
        NativeFunctions real = new SoftwareLibrary(SoftwareKernel.Kind.ROCE, false);
        return (NativeFunctions)
                Proxy.newProxyInstance(
                        HalfMadeObjectsTest.class.getClassLoader(),
                        new Class<?>[] {NativeFunctions.class},
                        (self, called, arguments) -> {
                            try {
                                Object result = called.invoke(real, arguments);
                                if (called.getName().equals(last)) {
                                    throw new OutOfMemoryError("of the test");
                                }
                                return result;
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }
}
