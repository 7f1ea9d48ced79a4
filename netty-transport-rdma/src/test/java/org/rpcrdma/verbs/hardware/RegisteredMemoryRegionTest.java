// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/** A registration ends after the windows that are bound to it, or the device keeps it. */
class RegisteredMemoryRegionTest {

    private final FakeDevice device = new FakeDevice();

    /** Posts nothing: what is bound is bound at once. */
    private static final class Binder implements WindowBinder {
        private FakeDevice.Region bound;

        @Override
        public boolean canBind() {
            return true;
        }

        @Override
        public void bind(
                NativeWindow window, NativeRegion to, long address, int length, int access) {
            bound = (FakeDevice.Region) to;
            bound.bound++;
            window.bound();
        }

        @Override
        public boolean tryUnbind(NativeWindow window) {
            bound.bound--;
            return true;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void windowsEndBeforeTheRegistration(boolean forgets) {
        MemoryRegistrar registrations = new MemoryRegistrar(device, 0);
        MemoryWindowPool windows = new MemoryWindowPool(device);
        QueuePairMemoryExposer exposures =
                new QueuePairMemoryExposer(registrations, windows, new Binder());
        ByteBuffer memory = ByteBuffer.allocateDirect(1000);
        long address = PlatformDependent.directBufferAddress(memory);
        RegisteredMemoryRegion region = new RegisteredMemoryRegion(registrations, memory, address);
        int key = exposures.expose(region, address + 100, 200, QueuePair.REMOTE_READ);
        exposures.expose(region, address + 300, 200, QueuePair.REMOTE_WRITE);

        Consumer<MemoryRegion> end = forgets ? MemoryRegion::forget : MemoryRegion::deregister;
        end.accept(region);
        end.accept(region);

        assertThat(device.refusals).isEmpty();
        assertThat(device.registrations).isZero();
        assertThat(registrations.bytes()).isZero();
        assertThat(exposures.contains(key)).isFalse();
        windows.close();
        assertThat(device.windows).isZero();
    }
}
