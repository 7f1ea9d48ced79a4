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
import org.junit.jupiter.params.provider.ValueSource;

/** A file that is cut short before any access to it: whoever has touched it is told at once, and by an exception. */
@DisabledOnOs(OS.WINDOWS)
class LostMemoryTest {

    private static final int RING = 8192;
    private static final int HEADER = 2 * RING;
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
