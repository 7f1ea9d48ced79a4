// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A file that is cut short before any access to it: whoever has touched it is told at once, and by an exception. */
@DisabledOnOs(OS.WINDOWS)
class LostMemoryTest {

    private static final int RING = 8192;
    private static final int HEADER = 2 * RING;
    private static final int PAGE = 4096;
    private static final int LARGE_PAGE = 64 * 1024;
    private static final long PROCESS = ProcessHandle.current().pid();

    @TempDir Path directory;

    /** Something that both ends do with their rings. */
    private interface Traffic {
        void run() throws IOException;
    }

    private static void converse(SharedRingFile here, SharedRingFile there) throws IOException {
        ByteBuffer[] sources = {ByteBuffer.allocateDirect(5000), ByteBuffer.allocateDirect(1000)};
        ByteBuffer target = ByteBuffer.allocateDirect(6000);
        for (int round = 0; round < 3; round++) {
            here.writer().sleeps(true);
            there.reader().sleeps(true);
            there.reader().hasBytes();
            sources[0].clear();
            sources[1].clear();
            here.writer().write(sources, 0, 2);
            here.writer().hasRoom();
            there.reader().read(target.clear());
            there.writer().write(target.flip());
            here.reader().read(sources, 0, 2);
            here.reader().read(target.clear());
        }
    }

    private void cutAtEveryAccess(long length) throws IOException {
        try (CutFiles cut = new CutFiles(directory)) {
            for (int access = 0; ; access++) {
                SharedRingFileFactory memory = cut.memory();
                cut.cut(access, length);
                IOException told = null;
                try {
                    UUID nonce = UUID.randomUUID();
                    UUID name = UUID.randomUUID();
                    try (SharedRingFile here = memory.create(name, nonce, RING);
                            SharedRingFile there = join(memory, name, nonce)) {
                        here.respondersNonce();
                        converse(here, there);
                    }
                } catch (IOException e) {
                    told = e;
                }
                assertThat(TruncationCheckedMappedMemory.pendingFault())
                        .as("access %d", access)
                        .isNull();
                if (!cut.isCut()) {
                    assertThat(access).isGreaterThan(60);
                    return;
                }
                assertThat(told).as("access %d", access).isNotNull();
            }
        }
    }

    private static SharedRingFile join(SharedRingFileFactory memory, UUID name, UUID nonce)
            throws IOException {
        InetSocketAddress nobody = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        return memory.join(
                new SharedMemoryOffer(nobody, PROCESS, name, nonce, RING), UUID.randomUUID());
    }

    /** From the whole file to a part of the last page but one. */
    @ParameterizedTest(name = "to {0} bytes")
    @ValueSource(longs = {0, 1, 4096, RING, 2 * RING})
    void isToldWhereverItIsLost(long length) throws IOException {
        cutAtEveryAccess(length);
    }

    /** Positions never say that there are bytes which did not get into the ring. */
    @Test
    void aStoreThatIsLostIsNotAnnounced() throws IOException {
        Path path = directory.resolve("ring");
        try (FileChannel file =
                FileChannel.open(
                        path,
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, HEADER + 4096);
            ByteBuffer words =
                    file.map(FileChannel.MapMode.READ_WRITE, 0, HEADER + 4096)
                            .order(ByteOrder.nativeOrder());
            ByteBuffer one = ByteBuffer.allocateDirect(1);
            TruncationCheckedMappedMemory memory =
                    new TruncationCheckedMappedMemory(mapped, HEADER, 77) {
                        @Override
                        void write(int at, ByteBuffer source, int from, int count) {
                            try {
                                file.truncate(0);
                                super.write(at, source, from, count);
                                // Longer again at once, as a peer does that hides it.
                                file.write(one, HEADER + 4095);
                            } catch (InternalError e) {
                                // The mark alone has to tell.
                                extend();
                            } catch (IOException e) {
                                throw new AssertionError(e);
                            }
                        }

                        private void extend() {
                            try {
                                file.write(one.clear(), HEADER + 4095);
                            } catch (IOException e) {
                                throw new AssertionError(e);
                            }
                        }
                    };
            mapped.putLong(HEADER, 77);
            RingWriter writer = new RingWriter(memory, HEADER + 1024, 0, RING);
            assertThatThrownBy(() -> writer.write(ByteBuffer.allocateDirect(100)))
                    .isInstanceOf(LostMemoryException.class);
            assertThat(TruncationCheckedMappedMemory.pendingFault()).isNull();
            assertThat(words.getLong(HEADER + 1024 + RingLayout.TAIL)).isZero();
            memory.close();
        }
        Files.delete(path);
    }

    /** As while the kernel still unmaps pages: here the mark is in a page that stays. */
    @ParameterizedTest(name = "{0}, to {1} pages")
    @CsvSource({"read, 2", "write, 2", "read, 3", "write, 3"})
    void aPageMayBeLostBeforeTheMark(String access, int left) throws IOException {
        try (FileChannel file =
                FileChannel.open(
                        directory.resolve("ring"),
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.DELETE_ON_CLOSE)) {
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, 4 * LARGE_PAGE);
            mapped.putLong(0, 77);
            TruncationCheckedMappedMemory memory = new TruncationCheckedMappedMemory(mapped, 0, 77);
            ByteBuffer bytes = ByteBuffer.allocateDirect(2 * LARGE_PAGE);
            Traffic copy =
                    access.equals("read")
                            ? () -> memory.read(LARGE_PAGE + 100, bytes, 0, 2 * LARGE_PAGE)
                            : () -> memory.write(LARGE_PAGE + 100, bytes, 0, 2 * LARGE_PAGE);
            // Code that is compiled goes on behind a fault; the interpreter throws within the copy.
            for (int i = 0; i < 5_000; i++) {
                copy.run();
                memory.verify();
            }
            file.truncate((long) left * LARGE_PAGE);
            Throwable told = null;
            try {
                copy.run();
                memory.verify();
            } catch (LostMemoryException | InternalError e) {
                told = e;
            }
            InternalError later = TruncationCheckedMappedMemory.pendingFault();
            assertThat(later).isNull();
            assertThat(told).isNotNull();
            memory.close();
        }
    }

    /** Each page of a copy is probed, the first, the last and those in between. */
    @Test
    void noPageOfACopyMayBeLost() throws IOException {
        long unread = 0x1234_5678_9abc_def0L;
        for (int lost = 0; lost < 6; lost++) {
            ByteBuffer bytes = ByteBuffer.allocateDirect(6 * PAGE);
            bytes.putLong(lost * PAGE, unread);
            TruncationCheckedMappedMemory reads =
                    new TruncationCheckedMappedMemory(bytes, 8, 0, unread);
            TruncationCheckedMappedMemory writes =
                    new TruncationCheckedMappedMemory(bytes, 8, 0, unread);
            reads.read(2 * PAGE - 1, ByteBuffer.allocateDirect(2 * PAGE), 0, 2 * PAGE);
            writes.write(2 * PAGE - 1, ByteBuffer.allocateDirect(1), 0, 1);
            assertThat(isLost(reads)).as("page %d", lost).isEqualTo(lost >= 1 && lost <= 3);
            assertThat(isLost(writes)).as("page %d", lost).isEqualTo(lost == 1);
        }
    }

    private static boolean isLost(TruncationCheckedMappedMemory memory) {
        try {
            memory.verify();
            return false;
        } catch (LostMemoryException e) {
            return true;
        }
    }

    /** The error may come at any place of a group of accesses; compiled code of Java 17 tells of it in between. */
    @Test
    void anErrorWithinAGroupIsTheLossOfTheMemory() {
        for (int access = 0; access < 4; access++) {
            int[] left = {access};
            TruncationCheckedMappedMemory memory =
                    new TruncationCheckedMappedMemory(
                            ByteBuffer.allocateDirect(HEADER + 4096), 0, 0) {
                        private void fault() {
                            if (left[0]-- == 0) {
                                throw new InternalError("a fault occurred");
                            }
                        }

                        @Override
                        long acquire(int at) {
                            fault();
                            return super.acquire(at);
                        }

                        @Override
                        boolean isAnnounced(int flag) {
                            fault();
                            return true;
                        }

                        @Override
                        void announce(int flag, boolean isSet) {
                            fault();
                        }

                        @Override
                        void withdraw(int flag) {
                            fault();
                        }

                        @Override
                        void write(int at, ByteBuffer source, int from, int count) {
                            fault();
                        }
                    };
            RingWriter writer = new RingWriter(memory, 1024, 4096, 4096);
            RingReader reader = new RingReader(memory, 1024, 4096, 4096);
            Traffic traffic =
                    () -> {
                        writer.hasRoom();
                        writer.write(ByteBuffer.allocateDirect(10));
                        writer.sleeps(true);
                        reader.hasBytes();
                        reader.read(ByteBuffer.allocateDirect(10));
                        reader.sleeps(true);
                    };
            assertThatThrownBy(traffic::run)
                    .isInstanceOf(LostMemoryException.class)
                    .hasCauseInstanceOf(InternalError.class);
        }
    }
}
