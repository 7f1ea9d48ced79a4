// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.REMOTE_WRITE;
import static org.rpcrdma.verbs.QueuePair.SHARED;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.conformance.Ends.NO_DATA;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.disni.DisniConfig;
import org.rpcrdma.verbs.disni.DisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** What the DiSNI provider has the device register, and when. */
class RegistrationTest {

    private final SoftwareRdmaProvider device = SoftwareRdmaProvider.install();
    private long before;

    @BeforeEach
    void count() {
        before = device.registeredBytes();
    }

    @AfterEach
    void nothingIsLeft() {
        device.limitMemory(Long.MAX_VALUE);
        assertThat(device.registeredBytes()).isEqualTo(before);
        assertThat(device.problems()).isEmpty();
    }

    private long registered() {
        return device.registeredBytes() - before;
    }

    private static EventLoopVerbsContext open(long cache) throws IOException {
        return new DisniProvider(
                        new DisniConfig(InetAddress.getLoopbackAddress(), 1024, cache, 2000))
                .open();
    }

    private static MemoryRegion register(EventLoopVerbsContext context, ByteBuffer memory) {
        return context.register(memory, PlatformDependent.directBufferAddress(memory));
    }

    @Test
    void memoryIsRegisteredWhenItIsFirstUsed() throws IOException {
        try (EventLoopVerbsContext context = open(0)) {
            MemoryRegion region = register(context, ByteBuffer.allocateDirect(1000));
            assertThat(registered()).isZero();
            int key = region.localKey();
            assertThat(region.localKey()).isEqualTo(key);
            assertThat(registered()).isEqualTo(1000);
            region.deregister();
            region.deregister();
            assertThat(registered()).isZero();
            assertThatThrownBy(region::localKey).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void anExposureRegistersItsRangeAndNoMore() throws IOException {
        try (Ends ends = Ends.connected(new SoftwareDisniProvider())) {
            int key = ends.active.expose(100, 30, REMOTE_READ);
            assertThat(registered()).isEqualTo(30);
            int other = ends.active.expose(100, 20, REMOTE_WRITE);
            assertThat(registered()).isEqualTo(50);
            ends.active.queuePair.invalidate(key);
            assertThat(registered()).isEqualTo(20);
            ends.active.region.deregister();
            assertThat(registered()).isZero();
            assertThat(ends.active.queuePair.isExposed(other)).isFalse();
        }
    }

    @Test
    void aSharedKeyIsThatOfTheRegionAndRegisteredOnce() throws IOException {
        try (Ends ends = Ends.connected(new SoftwareDisniProvider())) {
            QueuePair queuePair = ends.active.queuePair;
            int key = ends.active.expose(100, 30, REMOTE_READ | SHARED);
            assertThat(queuePair.exposedOffset(key)).isEqualTo(ends.active.base + 100);
            assertThat(ends.active.expose(200, 10, REMOTE_WRITE | SHARED)).isEqualTo(key);
            assertThat(queuePair.exposedOffset(key)).isEqualTo(ends.active.base + 200);
            assertThat(registered()).isEqualTo(Ends.BYTES);
            queuePair.invalidate(key);
            assertThat(queuePair.isExposed(key)).isTrue();
            queuePair.invalidate(key);
            assertThat(queuePair.isExposed(key)).isFalse();
            assertThat(registered()).as("kept for the next one").isEqualTo(Ends.BYTES);
            End third = ends.newActive();
            assertThat(third.queuePair.expose(ends.active.region, ends.active.base, 1, 1 | SHARED))
                    .isEqualTo(key);
            third.queuePair.close();
            ends.active.expose(0, 1, REMOTE_WRITE | SHARED);
            ends.active.put(0, (byte) 5);
            ends.passive.queuePair.read(1, SIGNALED, queuePair.exposedOffset(key), key);
            ends.passive.gather(0, 1);
            // An iWARP responder speaks second.
            ends.passive.receive(2, 0, 1);
            ends.passiveContext.poll(1);
            queuePair.send(3, 0);
            queuePair.doorbell();
            ends.passive.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1));
            assertThat(ends.passive.completion(1).status()).isEqualTo(WorkStatus.SUCCESS);
        }
    }

    @Test
    void theCacheKeepsUpToItsLimit() throws IOException {
        try (EventLoopVerbsContext context = open(2500)) {
            ByteBuffer[] memory = new ByteBuffer[4];
            for (int i = 0; i < memory.length; i++) {
                memory[i] = ByteBuffer.allocateDirect(1000);
            }
            MemoryRegion first = register(context, memory[0]);
            int key = first.localKey();
            first.deregister();
            assertThat(registered()).isEqualTo(1000);
            MemoryRegion again = register(context, memory[0]);
            assertThat(again.localKey()).as("from the cache").isEqualTo(key);
            again.deregister();
            for (ByteBuffer buffer : memory) {
                MemoryRegion region = register(context, buffer);
                assertThat(region.localKey()).isNotZero();
                region.deregister();
                assertThat(registered()).isLessThanOrEqualTo(2500);
            }
            assertThat(registered()).isEqualTo(2000);
            MemoryRegion large = register(context, ByteBuffer.allocateDirect(3000));
            assertThat(large.localKey()).isNotZero();
            large.deregister();
            assertThat(registered()).as("too large to be kept").isEqualTo(2000);
        }
    }

    /** What ends for the peer ends in the device. */
    @Test
    void nothingThatIsExposedIsCached() throws IOException {
        try (EventLoopVerbsContext context = open(1 << 20)) {
            End end = new End(context, 100);
            end.queuePair = context.createQueuePair(Ends.SIZE, end);
            end.queuePair.invalidate(end.expose(0, 10, REMOTE_READ));
            end.expose(0, 10, REMOTE_READ | SHARED);
            end.region.deregister();
            assertThat(registered()).isZero();
        }
    }

    @Test
    void theCacheMakesRoomBeforeRegisteringFails() throws IOException {
        try (EventLoopVerbsContext context = open(1 << 20)) {
            device.limitMemory(device.registeredBytes() + 1500);
            MemoryRegion first = register(context, ByteBuffer.allocateDirect(1000));
            assertThat(first.localKey()).isNotZero();
            first.deregister();
            MemoryRegion second = register(context, ByteBuffer.allocateDirect(1000));
            assertThat(second.localKey()).isNotZero();
            assertThat(registered()).isEqualTo(1000);
            second.deregister();
        }
    }

    @Test
    void theLimitOfLockedMemoryIsNamedWithWhatToDo() throws IOException {
        try (EventLoopVerbsContext context = open(0)) {
            device.limitMemory(device.registeredBytes() + 1500);
            MemoryRegion first = register(context, ByteBuffer.allocateDirect(1000));
            assertThat(first.localKey()).isNotZero();
            MemoryRegion second = register(context, ByteBuffer.allocateDirect(1000));
            assertThatThrownBy(second::localKey)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("RLIMIT_MEMLOCK")
                    .hasMessageContaining("register 1000 bytes beside the 1000 bytes")
                    .hasMessageContaining("ulimit -l unlimited")
                    .hasMessageContaining("registeredMemoryLimit");
            End end = new End(context, 1000);
            end.queuePair = context.createQueuePair(Ends.SIZE, end);
            assertThatThrownBy(() -> end.expose(0, 600, REMOTE_READ))
                    .hasMessageContaining("RLIMIT_MEMLOCK");
        }
    }

    @Test
    void aQueuePairThatTheCompletionQueueCannotHoldIsRefused() throws IOException {
        try (EventLoopVerbsContext context = open(0)) {
            QueuePairConfig half = new QueuePairConfig(512, 256, 1, 1);
            End end = new End(context, 1);
            QueuePair first = context.createQueuePair(half, end);
            assertThatThrownBy(() -> context.createQueuePair(half, end))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("1024")
                    .hasMessageContaining("org.rpcrdma.disni.completions");
            first.close();
            context.createQueuePair(half, end);
        }
    }

    @Test
    void aQueuePairThatCannotBeMadeTakesNoRoomInTheCompletionQueue() throws IOException {
        try (EventLoopVerbsContext context = open(0)) {
            QueuePairConfig whole = new QueuePairConfig(512, 512, 1, 1);
            assertThatThrownBy(() -> context.createQueuePair(whole, null))
                    .isInstanceOf(NullPointerException.class);
            context.createQueuePair(whole, new End(context, 1)).close();
        }
    }

    /**
     * Most devices flush what is posted to a queue pair that is destroyed, and nobody takes that out of the queue
     * but us.
     */
    @Test
    void whatAClosedQueuePairLeavesInTheCompletionQueueHasItsRoom() throws IOException {
        device.leaveCompletions(true);
        try (Ends ends = new Ends(new SoftwareDisniProvider());
                EventLoopVerbsContext context = open(0)) {
            ends.listen();
            QueuePairConfig size = new QueuePairConfig(16, 700, 1, 1);
            End end = new End(context, 10);
            for (int round = 0; round < 3; round++) {
                end.queuePair = context.createQueuePair(size, end);
                for (int i = 0; i < 700; i++) {
                    end.receive(i, 0, 10);
                }
                end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
                end.queuePair.close();
                assertThatThrownBy(() -> context.createQueuePair(size, end))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("1024 entries, of which 700 are promised");
                context.poll(64);
                assertThatThrownBy(() -> context.createQueuePair(size, end))
                        .hasMessageMatching(".* of which 6\\d\\d are promised .*");
                while (context.poll(64) > 0) {}
            }
            end.region.deregister();
        } finally {
            device.leaveCompletions(false);
        }
    }

    @Test
    void anAddressThatIsNotOfTheMemoryIsRefused() throws IOException {
        try (EventLoopVerbsContext context = open(0)) {
            assertThatThrownBy(() -> context.register(ByteBuffer.allocateDirect(10), 4096))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("sun.misc.Unsafe");
        }
    }
}
