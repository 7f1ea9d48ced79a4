// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/** Memory and registrations that were taken for what fails then are given back, whatever the failure is. */
class MemoryAfterFailureTest {

    private static final DeviceCapabilities CAPABILITIES = DeviceCapabilities.builder().build();

    /** A device that registers memory, and refuses all work, by an error. */
    private final QueuePair refusing =
            (QueuePair)
                    Proxy.newProxyInstance(
                            getClass().getClassLoader(),
                            new Class<?>[] {QueuePair.class},
                            (proxy, method, arguments) -> {
                                throw new OutOfMemoryError("refused: " + method.getName());
                            });

    private final EventLoopVerbsContext context =
            (EventLoopVerbsContext)
                    Proxy.newProxyInstance(
                            getClass().getClassLoader(),
                            new Class<?>[] {EventLoopVerbsContext.class},
                            (proxy, method, arguments) -> {
                                assertThat(method.getName()).isEqualTo("register");
                                return new Region((ByteBuffer) arguments[0], (long) arguments[1]);
                            });

    private final DirectMemoryBudget budget = new DirectMemoryBudget(4 << 20);
    private final RegisteredBufferPool pool =
            new RegisteredBufferPool(context, budget, () -> true, () -> {}, (bytes, why) -> {});
    private final ZeroCopyRegistrar memory = new ZeroCopyRegistrar(pool, true);
    private int registrations;

    private final class Region implements MemoryRegion {
        private final ByteBuffer bytes;
        private final long address;

        Region(ByteBuffer bytes, long address) {
            this.bytes = bytes;
            this.address = address;
            registrations++;
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public int length() {
            return bytes.capacity();
        }

        @Override
        public int localKey() {
            return 1;
        }

        @Override
        public void deregister() {
            registrations--;
        }
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(pool.lentBytes()).isZero();
        pool.close();
        assertThat(registrations).isZero();
        assertThat(budget.used()).isZero();
    }

    @Test
    void aMessageThatCannotBeCopied() {
        ByteBuf unreadable =
                new UnpooledHeapByteBuf(UnpooledByteBufAllocator.DEFAULT, 100, 100) {
                    @Override
                    public byte[] array() {
                        throw new IllegalStateException("unreadable");
                    }
                };
        unreadable.writerIndex(100);
        assertThatThrownBy(() -> memory.sendable(unreadable)).hasMessage("unreadable");
        assertThatThrownBy(() -> memory.sendablePart(unreadable, 0, 100)).hasMessage("unreadable");
        assertThat(unreadable.release()).isTrue();
    }

    @Test
    void foreignMemoryThatIsNotSent() {
        ByteBuf foreign = Unpooled.directBuffer(100).writeLong(1);
        assertThatThrownBy(() -> memory.gather(refusing, foreign, 0, 8))
                .isInstanceOf(OutOfMemoryError.class);
        foreign.release();
    }

    @Test
    void foreignMemoryThatIsNotExposed() {
        ByteBuf foreign = Unpooled.directBuffer(100).writeLong(1);
        ChannelMemoryExposures exposures = new ChannelMemoryExposures(refusing, memory, true);
        assertThatThrownBy(
                        () ->
                                exposures.expose(
                                        foreign, 0, 8, RemoteAccess.READ, RegistrationPolicy.EXACT))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(registrations).isZero();
        foreign.release();
    }

    @Test
    void theBufferOfAStreamThatIsNotExposed() {
        ChannelMemoryExposures exposures = new ChannelMemoryExposures(refusing, memory, true);
        assertThatThrownBy(
                        () ->
                                new PublishedStreamReceiveBuffers(
                                        exposures,
                                        new StreamReceiveMemoryAllocatedAtExposure(
                                                pool, exposures, 1 << 16),
                                        8))
                .isInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void theReceivesOfAStreamThatAreNotPosted() {
        assertThatThrownBy(() -> new StreamMessageReceiveRing(refusing, pool, false, 4, 8))
                .isInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void whatAStreamHasCopiedAndCannotWrite() {
        PostedStreamWrites work =
                new PostedStreamWrites(
                        refusing, SendOrImmediateStreamPoster.of(CAPABILITIES, refusing), pool, 32);
        RegisteredByteBuf copied = pool.take(100);
        copied.writeLong(1);
        assertThatThrownBy(() -> work.write(0, 0, copied)).isInstanceOf(OutOfMemoryError.class);
        work.release();
    }

    /** An increase that fails takes back nothing of what was kept before, and promised to the peer. */
    @Test
    void receivesThatAreNotPostedLowerNothing() {
        QueuePair accepting =
                (QueuePair)
                        Proxy.newProxyInstance(
                                getClass().getClassLoader(),
                                new Class<?>[] {QueuePair.class},
                                (proxy, method, arguments) -> null);
        PostedReceives receives =
                new PostedReceives(
                        accepting, pool, new EventLoopPostedReceiveCounters(), false, 4096, 128);
        assertThat(receives.keep(40)).isEqualTo(40);
        receives.replenish();
        // Seven are missing, which is less than a batch.
        for (int i = 0; i < 7; i++) {
            receives.complete(1);
            receives.poll().release();
            receives.replenish();
        }
        List<ByteBuf> others = new ArrayList<>();
        for (int size = 64 << 10; size >= 64; size /= 2) {
            try {
                while (true) {
                    others.add(pool.take(size).buffer());
                }
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("memory");
            }
        }
        assertThat(receives.keep(100)).isEqualTo(40);
        others.forEach(ByteBuf::release);
        receives.replenish();
        assertThat(receives.keep(100)).isEqualTo(100);
        receives.clear();
    }
}
