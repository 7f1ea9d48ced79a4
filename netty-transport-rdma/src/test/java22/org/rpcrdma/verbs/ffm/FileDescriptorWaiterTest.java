// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The wait for four file descriptors, with those of Linux. */
class FileDescriptorWaiterTest {

    private static final int NONBLOCK = 0x800;

    private final NativeFunctions library = new Downcalls();
    private final int completions = library.eventfd(0, 0);
    private final int events = library.eventfd(0, 0);
    private final int device = library.eventfd(0, 0);
    private FileDescriptorWaiter waiter;

    @BeforeEach
    void open() throws IOException {
        waiter = new FileDescriptorWaiter(library, completions, events, device);
        waiter.eventsTaken();
    }

    @AfterEach
    void close() {
        waiter.close();
        waiter.wakeup(); // nobody minds
        for (int fd : new int[] {completions, events, device}) {
            assertThat(library.close(fd)).isZero();
        }
    }

    @Test
    void nothingThatIsWaitedForBlocks() {
        for (int fd : new int[] {completions, events, device}) {
            assertThat(library.fcntl(fd, StructLayouts.F_GETFL, 0) & NONBLOCK).isEqualTo(NONBLOCK);
        }
    }

    @Test
    void eachOfThemEndsTheWait() throws IOException {
        library.eventfdWrite(completions, 1);
        waiter.sleep(Long.MAX_VALUE);
        assertThat(waiter.hasCompletions()).isTrue();
        assertThat(waiter.hasEvents()).isFalse();
        clear(completions);
        for (int fd : new int[] {events, device}) {
            library.eventfdWrite(fd, 1);
            waiter.sleep(Long.MAX_VALUE);
            assertThat(waiter.hasCompletions()).isFalse();
            assertThat(waiter.hasEvents()).isTrue();
            waiter.eventsTaken();
            clear(fd);
        }
        waiter.sleep(1);
        assertThat(waiter.hasEvents()).isFalse();
    }

    private void clear(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            library.eventfdRead(fd, arena.allocate(Long.BYTES, Long.BYTES).address());
        }
    }

    @Test
    void aWakeupBeforeTheWaitEndsIt() throws IOException {
        waiter.wakeup();
        waiter.wakeup();
        waiter.sleep(Long.MAX_VALUE);
    }

    /** However close to the wait it comes. */
    @Test
    void aWakeupByAnotherThreadEndsIt() throws Exception {
        for (int round = 0; round < 200; round++) {
            CountDownLatch started = new CountDownLatch(1);
            Thread other =
                    new Thread(
                            () -> {
                                started.countDown();
                                waiter.wakeup();
                            });
            other.start();
            started.await();
            waiter.sleep(Long.MAX_VALUE);
            other.join();
        }
    }
}
