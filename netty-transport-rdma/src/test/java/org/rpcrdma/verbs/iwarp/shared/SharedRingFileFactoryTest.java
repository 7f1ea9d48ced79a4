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
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The files that two ends map: whose they are, what is in them, and when they go. */
@DisabledOnOs(OS.WINDOWS)
class SharedRingFileFactoryTest {

    private static final int RING = 8192;
    private static final long OWN = ProcessHandle.current().pid();
    private static final UUID NAME = new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L);
    private static final UUID NONCE = new UUID(0x1112131415161718L, 0x191a1b1c1d1e1f20L);
    private static final UUID RESPONDERS = new UUID(0x2122232425262728L, 0x292a2b2c2d2e2f30L);

    /** Behind the rings. */
    private static final int HEADER = 2 * RING;

    @TempDir Path directory;

    private Path file() {
        return directory.resolve("rpcrdma-" + OWN + "-" + NAME);
    }

    private static SharedMemoryOffer offer(long process, UUID name, UUID nonce, int ringBytes) {
        return new SharedMemoryOffer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                process,
                name,
                nonce,
                ringBytes);
    }

    private static SharedMemoryOffer offer() {
        return offer(OWN, NAME, NONCE, RING);
    }

    private void assertEmpty() throws IOException {
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void theHeaderIsTheseBytes() throws IOException {
        SharedRingFileFactory memory = new SharedRingFileFactory(directory);
        try (SharedRingFile rings = memory.create(NAME, NONCE, RING)) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
                    .isEqualTo("rw-------");
            ByteBuffer ones = ByteBuffer.allocateDirect(3).put(new byte[] {1, 1, 1}).flip();
            rings.writer().write(ones);
            rings.reader().sleeps(true);
            rings.writer().sleeps(true);
            byte[] bytes = Files.readAllBytes(file());
            assertThat(bytes).hasSize(4096 + 2 * RING);
            assertThat(HexFormat.of().formatHex(bytes, HEADER, HEADER + 48))
                    .isEqualTo(
                            "d372706373686d0a"
                                    + "00000002"
                                    + "00002000"
                                    + "1112131415161718191a1b1c1d1e1f20"
                                    + "00000000000000000000000000000000");
            ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
            assertThat(words.getLong(HEADER + 1024)).isEqualTo(3); // written by the initiator
            assertThat(words.getLong(HEADER + 1032)).isZero(); // beginning with that byte
            assertThat(words.getLong(HEADER + 1024 + 128)).isZero(); // read by the responder
            assertThat(words.getInt(HEADER + 1024 + 384))
                    .isEqualTo(1); // the initiator waits for room
            assertThat(words.getInt(HEADER + 1536 + 256)).isEqualTo(1); // and for bytes
            assertThat(HexFormat.of().formatHex(bytes, 0, 4)).isEqualTo("01010100");
            try (SharedRingFile joined = memory.join(offer(), RESPONDERS)) {
                ByteBuffer target = ByteBuffer.allocateDirect(5);
                assertThat(joined.reader().read(target)).isEqualTo(3);
                joined.writer().write(target.flip());
                assertThat(rings.reader().read(target.clear())).isEqualTo(3);
                assertThat(rings.respondersNonce()).isEqualTo(RESPONDERS);
            }
        }
    }

    @Test
    void theFileIsGoneOnceBothHaveMappedIt() throws IOException {
        SharedRingFileFactory memory = new SharedRingFileFactory(directory);
        SharedRingFile rings = memory.create(NAME, NONCE, RING);
        assertThat(file()).exists();
        assertThatThrownBy(() -> memory.create(NAME, NONCE, RING))
                .isInstanceOf(FileAlreadyExistsException.class);
        SharedRingFile joined = memory.join(offer(), RESPONDERS);
        assertEmpty();
        assertThatThrownBy(() -> memory.join(offer(), RESPONDERS))
                .isInstanceOf(NoSuchFileException.class);
        rings.unlink();
        rings.close();
        rings.close();
        // What is mapped stays.
        joined.writer().write(ByteBuffer.allocateDirect(RING));
        joined.close();
    }

    @Test
    void whatNobodyHasJoinedGoesByClosing() throws IOException {
        SharedRingFileFactory memory = new SharedRingFileFactory(directory);
        memory.create(NAME, NONCE, RING).close();
        assertEmpty();
    }

    private void refused(String why) throws IOException {
        assertThatThrownBy(() -> new SharedRingFileFactory(directory).join(offer(), RESPONDERS))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(why);
    }

    private void put(int size, String mode) throws IOException {
        Files.deleteIfExists(file());
        Files.write(file(), new byte[size]);
        Files.setPosixFilePermissions(file(), PosixFilePermissions.fromString(mode));
    }

    @Test
    void anotherFileIsNotMapped() throws IOException {
        refused(file().toString());
        put(4096 + 2 * RING, "rw-r-----");
        refused("has mode rw-r-----");
        put(4095 + 2 * RING, "rw-------");
        refused("has 20479 bytes, not as announced");
        put(4096 + 2 * RING, "rw-------");
        refused("header does not agree");
        Path elsewhere = Files.move(file(), directory.resolve("elsewhere"));
        Files.createSymbolicLink(file(), elsewhere);
        refused("is not a regular file");
        Files.delete(file());
        Files.createDirectory(file());
        refused("is not a regular file");
    }

    @Test
    void theHeaderHasToAgree() throws IOException {
        SharedRingFileFactory memory = new SharedRingFileFactory(directory);
        try (SharedRingFile rings = memory.create(NAME, NONCE, RING)) {
            SharedMemoryOffer other = offer(OWN, NAME, RESPONDERS, RING);
            assertThatThrownBy(() -> memory.join(other, RESPONDERS))
                    .hasMessageContaining("header does not agree");
            for (int at : new int[] {HEADER + 7, HEADER + 11, HEADER + 15}) {
                try (FileChannel channel =
                        FileChannel.open(
                                file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                    ByteBuffer one = ByteBuffer.allocate(1);
                    channel.read(one, at);
                    channel.write(ByteBuffer.wrap(new byte[] {(byte) (one.get(0) ^ 1)}), at);
                    refused("header does not agree");
                    channel.write(one.flip(), at);
                }
            }
            memory.join(offer(), RESPONDERS).close();
        }
        assertEmpty();
    }

    /** Where root runs the tests, the owner can be another one. */
    @Test
    void aFileOfAnotherUserIsNotMapped() throws IOException {
        put(4096 + 2 * RING, "rw-------");
        try {
            Files.setAttribute(file(), "unix:uid", 65_534);
        } catch (IOException e) {
            Assumptions.abort("only root gives files away");
        }
        refused("is of ");
    }

    @Test
    void whereFilesCannotBeMadeThereIsNone() {
        assertThatThrownBy(() -> new SharedRingFileFactory(directory.resolve("missing")))
                .isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void whatProcessesHaveLeftThatAreGoneIsSwept() throws Exception {
        Process gone = new ProcessBuilder(java(), "-version").redirectErrorStream(true).start();
        gone.getInputStream().readAllBytes();
        gone.waitFor();
        Path left = Files.createFile(directory.resolve("rpcrdma-" + gone.pid() + "-" + NAME));
        Path live = Files.createFile(file());
        Path other = Files.createFile(directory.resolve("rpcrdma-x-" + NAME));
        new SharedRingFileFactory(directory);
        assertThat(left).doesNotExist();
        assertThat(live).exists();
        assertThat(other).exists();
    }

    /** As the first process of a container, which has number 1 each time. */
    @Test
    void whatAProcessOfTheSameNumberHasLeftIsSwept() throws Exception {
        Instant start = ProcessHandle.current().info().startInstant().orElse(null);
        Assumptions.assumeTrue(start != null, "the start of a process is known");
        Path left = Files.createFile(file());
        Files.setLastModifiedTime(left, FileTime.from(start.minusSeconds(1)));
        Path live = Files.createFile(directory.resolve("rpcrdma-" + OWN + "-" + NONCE));
        new SharedRingFileFactory(directory);
        assertThat(left).doesNotExist();
        assertThat(live).exists();
    }

    @Test
    void whatCannotBeDeletedKeepsNothingElseFromIt() throws Exception {
        Process gone = new ProcessBuilder(java(), "-version").redirectErrorStream(true).start();
        gone.getInputStream().readAllBytes();
        gone.waitFor();
        String prefix = "rpcrdma-" + gone.pid() + "-";
        List<Path> left = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            left.add(Files.createFile(directory.resolve(prefix + UUID.randomUUID())));
            // A directory that is not empty cannot be deleted by anybody, root included.
            Path stays = Files.createDirectory(directory.resolve(prefix + UUID.randomUUID()));
            Files.createFile(stays.resolve("file"));
        }
        new SharedRingFileFactory(directory);
        assertThat(left).allSatisfy(file -> assertThat(file).doesNotExist());
    }

    /** Every page has its place before the file is mapped. */
    @Test
    void aFileHasAllOfItsPages() throws IOException {
        List<Long> written = new ArrayList<>();
        SharedRingFileFactory memory =
                new SharedRingFileFactory(
                        directory,
                        (file, bytes, markAt, mark) -> {
                            written.add(file.size());
                            return SharedRingFile.MAPPER.map(file, bytes, markAt, mark);
                        });
        memory.create(NAME, NONCE, RING).close();
        assertThat(written).containsExactly(4096L + 2 * RING);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void withoutRoomForAllPagesNothingIsMapped() throws IOException {
        Path full = Path.of("/dev/full");
        try (FileChannel file =
                FileChannel.open(full, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            assertThatThrownBy(
                            () ->
                                    SharedRingFile.create(
                                            full,
                                            file,
                                            (channel, bytes, markAt, mark) -> {
                                                throw new AssertionError("was mapped");
                                            },
                                            RING,
                                            NONCE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("No space left");
        }
    }

    @Test
    void whatCannotBeMappedLeavesNoFile() throws IOException {
        SharedRingFileFactory memory =
                new SharedRingFileFactory(
                        directory,
                        (file, bytes, markAt, mark) -> {
                            throw new IOException("no room");
                        });
        assertThatThrownBy(() -> memory.create(NAME, NONCE, RING)).hasMessage("no room");
        assertEmpty();
    }

    private static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    @Test
    void theStandardDirectoryCanBeUsed() throws IOException {
        SharedRingFileFactory memory =
                new SharedRingFileFactory(SharedRingFileFactory.standardDirectory());
        UUID name = UUID.randomUUID();
        try (SharedRingFile rings = memory.create(name, NONCE, RING);
                SharedRingFile joined = memory.join(offer(OWN, name, NONCE, RING), RESPONDERS)) {
            assertThat(rings.respondersNonce()).isEqualTo(RESPONDERS);
            assertThat(joined.reader().hasBytes()).isFalse();
        }
    }
}
