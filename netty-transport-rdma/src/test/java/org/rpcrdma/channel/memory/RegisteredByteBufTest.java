// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.IllegalReferenceCountException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/** A registered buffer does what Netty's heap buffer does, and touches nothing outside of itself. */
class RegisteredByteBufTest {

    private static final int SIZE = 1000;

    private final byte[] random = new byte[SIZE];
    private EventLoopVerbsContext context;
    private RegisteredBufferPool pool;
    private ByteBuf before;
    private ByteBuf buffer;
    private ByteBuf behind;
    private ByteBuf expected;

    @BeforeEach
    void take() throws IOException {
        context = Rdma.provider().open();
        pool =
                new RegisteredBufferPool(
                        context,
                        DirectMemoryBudget.jvm(),
                        () -> true,
                        () -> {},
                        (bytes, why) -> {});
        before = pool.registered(256).writeZero(256);
        buffer = pool.registered(SIZE);
        behind = pool.registered(256).writeZero(256);
        new Random(1).nextBytes(random);
        buffer.writeBytes(random);
        expected = Unpooled.copiedBuffer(random);
    }

    @AfterEach
    void release() {
        assertThat(buffer).isEqualTo(expected);
        for (ByteBuf other : List.of(before, behind)) {
            assertThat(other.forEachByte(value -> value == 0)).isEqualTo(-1);
            other.release();
        }
        buffer.release();
        pool.close();
        context.close();
    }

    private void same(BiFunction<ByteBuf, Integer, Object> read, int width) {
        for (int i = 0; i <= SIZE - width; i++) {
            assertThat(read.apply(buffer, i)).isEqualTo(read.apply(expected, i));
        }
        assertThatThrownBy(() -> read.apply(buffer, SIZE - width + 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    private void write(BiConsumer<ByteBuf, Integer> write, int width) {
        for (int i = 0; i <= SIZE - width; i += 7) {
            write.accept(buffer, i);
            write.accept(expected, i);
        }
        assertThat(buffer).isEqualTo(expected);
        assertThatThrownBy(() -> write.accept(buffer, SIZE - width + 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> write.accept(buffer, -1))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    /** The device reads what it is told to: only the buffer's own bytes have a registration, while it is held. */
    @Test
    void onlyItsOwnBytesAreRegistered() {
        RegisteredByteBuf taken = pool.take(SIZE);
        assumeTrue(taken.hasMemoryAddress(), "found by address");
        assertThat(taken.pool).isSameAs(pool);
        assertThat(taken.registration(0, SIZE)).isSameAs(taken.region());
        assertThat(taken.registration(SIZE, 0)).isSameAs(taken.region());
        assertThat(taken.registration(1, SIZE)).isNull();
        assertThat(taken.registration(-1, 1)).isNull();
        assertThat(taken.registration(0, -1)).isNull();
        assertThat(taken.registration(Integer.MAX_VALUE, Integer.MAX_VALUE)).isNull();
        taken.release();
        assertThatThrownBy(() -> taken.registration(0, 1))
                .isInstanceOf(IllegalReferenceCountException.class);
    }

    @Test
    void numbersAreRead() {
        same(ByteBuf::getByte, 1);
        same(ByteBuf::getShort, 2);
        same(ByteBuf::getShortLE, 2);
        same(ByteBuf::getUnsignedMedium, 3);
        same(ByteBuf::getUnsignedMediumLE, 3);
        same(ByteBuf::getInt, 4);
        same(ByteBuf::getIntLE, 4);
        same(ByteBuf::getLong, 8);
        same(ByteBuf::getLongLE, 8);
    }

    @Test
    void numbersAreWritten() {
        write((to, i) -> to.setByte(i, 0x91), 1);
        write((to, i) -> to.setShort(i, 0x9182), 2);
        write((to, i) -> to.setShortLE(i, 0x9182), 2);
        write((to, i) -> to.setMedium(i, 0x918273), 3);
        write((to, i) -> to.setMediumLE(i, 0x918273), 3);
        write((to, i) -> to.setInt(i, 0x91827364), 4);
        write((to, i) -> to.setIntLE(i, 0x91827364), 4);
        write((to, i) -> to.setLong(i, 0x9182736455463728L), 8);
        write((to, i) -> to.setLongLE(i, 0x9182736455463728L), 8);
    }

    /** Also at addresses that are no multiple of their width. */
    @Test
    void numbersMoveWithTheBeginning() {
        buffer.skipBytes(5).discardReadBytes();
        expected.skipBytes(5).discardReadBytes();
        for (int i = 0; i <= SIZE - 5 - Long.BYTES; i++) {
            assertThat(buffer.getByte(i)).isEqualTo(expected.getByte(i));
            assertThat(buffer.getShort(i)).isEqualTo(expected.getShort(i));
            assertThat(buffer.getInt(i)).isEqualTo(expected.getInt(i));
            assertThat(buffer.getLong(i)).isEqualTo(expected.getLong(i));
        }
        buffer.setLong(3, 0x9182736455463728L);
        expected.setLong(3, 0x9182736455463728L);
    }

    @Test
    void bytesAreRead() {
        for (ByteBuf target :
                List.of(
                        Unpooled.buffer(SIZE),
                        Unpooled.directBuffer(SIZE),
                        pool.registered(SIZE),
                        Unpooled.wrappedBuffer(new byte[300], new byte[SIZE - 300]))) {
            target.setZero(0, SIZE);
            buffer.getBytes(13, target, 17, 900);
            assertThat(target.slice(17, 900)).isEqualTo(expected.slice(13, 900));
            assertThat(target.getByte(16)).isZero();
            assertThat(target.getByte(917)).isZero();
            assertThatThrownBy(() -> buffer.getBytes(101, target, 0, 900))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            target.release();
        }
        byte[] bytes = new byte[900];
        buffer.getBytes(13, bytes);
        assertThat(Unpooled.wrappedBuffer(bytes)).isEqualTo(expected.slice(13, 900));
        ByteBuffer nio = ByteBuffer.allocate(900);
        buffer.getBytes(13, nio);
        assertThat(nio.array()).isEqualTo(bytes);
        assertThat(buffer.nioBuffer(13, 900)).isEqualTo(ByteBuffer.wrap(bytes));
        assertThat(buffer.internalNioBuffer(13, 900)).isEqualTo(ByteBuffer.wrap(bytes));
        ByteBuf copy = buffer.copy(13, 900);
        assertThat(copy).isEqualTo(expected.slice(13, 900));
        copy.release();
    }

    /** As a reply is copied whose data is apart from its header. */
    @Test
    void nothingIsAllocatedForBytesInSeveralPieces() {
        assumeTrue(buffer.hasMemoryAddress());
        var unwatched = new UnpooledByteBufAllocator(true, true);
        ByteBuf source =
                unwatched
                        .compositeDirectBuffer()
                        .addComponent(true, unwatched.directBuffer(8).writeLong(1))
                        .addComponent(true, unwatched.directBuffer(8).writeLong(2));
        ByteBuf bare = buffer instanceof RegisteredByteBuf ? buffer : buffer.unwrap();
        expected.setBytes(13, source, 1, 12);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        bare.setBytes(13, source, 1, 12);
        threads.getCurrentThreadAllocatedBytes();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 10_000; i++) {
            bare.setBytes(13, source, 1, 12);
        }
        // Asking, and compiling, allocate a little; an object for each time would show.
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(100_000);
        source.release();
    }

    @Test
    void bytesAreWritten() {
        for (ByteBuf source :
                List.of(
                        Unpooled.buffer(SIZE),
                        Unpooled.directBuffer(SIZE),
                        pool.registered(SIZE),
                        Unpooled.wrappedBuffer(new byte[300], new byte[SIZE - 300]))) {
            for (int i = 0; i < SIZE; i++) {
                source.setByte(i, i);
            }
            buffer.setBytes(13, source, 17, 900);
            expected.setBytes(13, source, 17, 900);
            assertThat(buffer).isEqualTo(expected);
            assertThatThrownBy(() -> buffer.setBytes(101, source, 0, 900))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            source.release();
        }
        byte[] bytes = new byte[900];
        new Random(2).nextBytes(bytes);
        buffer.setBytes(13, bytes);
        expected.setBytes(13, bytes);
        assertThat(buffer).isEqualTo(expected);
        buffer.setBytes(20, ByteBuffer.wrap(bytes));
        expected.setBytes(20, bytes);
    }

    @Test
    void streamsAndFilesAreReadAndWritten(@TempDir Path directory) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        buffer.getBytes(5, out, 100);
        buffer.getBytes(105, out, 100);
        assertThat(Unpooled.wrappedBuffer(out.toByteArray())).isEqualTo(expected.slice(5, 200));
        Path file = directory.resolve("bytes");
        try (FileChannel channel =
                FileChannel.open(
                        file,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            buffer.getBytes(5, channel, 3, 200);
            assertThat(buffer.setBytes(300, channel, 3, 200)).isEqualTo(200);
            expected.setBytes(300, expected.copy(5, 200));
        }
        assertThat(Files.size(file)).isEqualTo(203);
        assertThat(buffer.setBytes(600, new ByteArrayInputStream(random), 100)).isEqualTo(100);
        expected.setBytes(600, random, 0, 100);
    }

    @Test
    void itDoesNotGrow() {
        assertThat(buffer.maxCapacity()).isEqualTo(SIZE);
        assertThatThrownBy(() -> buffer.writeByte(1)).isInstanceOf(IndexOutOfBoundsException.class);
        ByteBuf smaller = pool.registered(100).writeZero(50);
        smaller.capacity(20);
        assertThat(smaller.readableBytes()).isEqualTo(20);
        smaller.release();
    }

    @Test
    void itIsGoneWhenItIsReleased() {
        ByteBuf released = pool.registered(100).writeZero(50);
        released.release();
        assertThat(released.refCnt()).isZero();
        assertThatThrownBy(() -> released.getInt(0))
                .isInstanceOf(IllegalReferenceCountException.class);
        assertThatThrownBy(released::release).isInstanceOf(IllegalReferenceCountException.class);
        assertThat(pool.lentBytes()).isEqualTo(256 + FreeBlockLists.size(SIZE) + 256);
    }
}
