// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The wait after a device was taken away, whose descriptors are in error from then on. */
class BrokenDescriptorTest {

    private final SoftwareKernel kernel = SoftwareKernel.get(SoftwareKernel.Kind.ROCE);
    private final NativeFunctions library = new SoftwareLibrary(SoftwareKernel.Kind.ROCE, false);
    private final int[] descriptors = {kernel.open(), kernel.open(), kernel.open()};
    private FileDescriptorWaiter waiter;

    @BeforeEach
    void open() throws IOException {
        waiter = new FileDescriptorWaiter(library, descriptors[0], descriptors[1], descriptors[2]);
        waiter.eventsTaken();
    }

    @AfterEach
    void close() {
        waiter.close();
        for (int fd : descriptors) {
            kernel.close(fd);
        }
        assertThat(kernel.problems()).isEmpty();
    }

    private SoftwareKernel.Descriptor broken(int number) {
        SoftwareKernel.Descriptor descriptor = kernel.descriptor(descriptors[number]);
        descriptor.isBroken = true;
        return descriptor;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void endsOneWaitAndNoOther(int number) throws IOException {
        SoftwareKernel.Descriptor broken = broken(number);
        for (int i = 0; i < 3; i++) {
            waiter.sleep(1);
            assertThat(waiter.hasCompletions()).isFalse();
            assertThat(waiter.hasEvents()).isFalse();
        }
        assertThat(broken.errors).isEqualTo(1);
        // The others are still waited for.
        for (int other = 0; other < 3; other++) {
            if (other != number) {
                kernel.add(descriptors[other], 1);
                waiter.sleep(Long.MAX_VALUE);
                assertThat(waiter.hasCompletions()).isEqualTo(other == 0);
                assertThat(waiter.hasEvents()).isEqualTo(other != 0);
                waiter.eventsTaken();
                kernel.take(descriptors[other]);
            }
        }
        waiter.wakeup();
        waiter.sleep(Long.MAX_VALUE);
    }

    @Test
    void whatCameBeforeTheErrorIsTaken() throws IOException {
        SoftwareKernel.Descriptor broken = broken(1);
        kernel.add(descriptors[1], 1);
        waiter.sleep(Long.MAX_VALUE);
        assertThat(waiter.hasEvents()).isTrue();
        assertThat(broken.errors).isZero();
    }
}
