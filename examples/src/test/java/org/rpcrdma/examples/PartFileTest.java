// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PartFileTest {

    private static final long NEVER_COPIED = 1L << 40;
    private static final int PATIENCE_SECONDS = 60;

    @TempDir private Path exported;
    @TempDir private Path local;
    @TempDir private Path state;

    @Test
    void onlyWhatIsCompleteGetsTheName() throws IOException {
        Path target = Files.writeString(local.resolve("file"), "old");
        try (PartFile part = new PartFile(target)) {
            part.channel().write(StandardCharsets.UTF_8.encode("half of it"));
        }
        assertThat(local()).containsExactly("file");
        assertThat(target).hasContent("old");
        try (PartFile part = new PartFile(target)) {
            part.channel().write(StandardCharsets.UTF_8.encode("new"));
            part.complete();
        }
        assertThat(local()).containsExactly("file");
        assertThat(target).hasContent("new");
    }

    @Test
    void theModeOfWhatIsReplacedIsKept() throws IOException {
        Path target = Files.writeString(local.resolve("file"), "old");
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-------"));
        try (PartFile part = new PartFile(target)) {
            for (String name : local()) {
                assertThat(Files.getPosixFilePermissions(local.resolve(name))).hasSize(2);
            }
            part.complete();
        }
        assertThat(Files.getPosixFilePermissions(target)).hasSize(2);
    }

    @Test
    void aNameMayBeAsLongAsThereAre() throws IOException {
        Path target = local.resolve("n".repeat(255));
        try (PartFile part = new PartFile(target)) {
            part.complete();
        }
        assertThat(target).isEmptyFile();
    }

    /** Somebody else could have put a symbolic link there. */
    @Test
    void nobodyKnowsTheNameBefore() throws IOException {
        Path target = local.resolve("file");
        try (PartFile one = new PartFile(target);
                PartFile other = new PartFile(target)) {
            assertThat(one.channel().isOpen() && other.channel().isOpen()).isTrue();
            assertThat(local()).hasSize(2).noneMatch(name -> name.equals("file"));
        }
        assertThat(local()).isEmpty();
    }

    /** The signal of Ctrl-C, or that of kill, while a file of a tebibyte without a block comes. */
    @Test
    void nothingIsLeftWhenTheProcessIsToldToEnd() throws Exception {
        try (RandomAccessFile file =
                new RandomAccessFile(exported.resolve("large").toFile(), "rw")) {
            file.setLength(NEVER_COPIED);
        }
        try (NfsFixture fixture =
                new NfsFixture(NfsFixture.Transport.RDMA, exported, state.resolve("key"), true)) {
            Process process = get(fixture);
            try {
                Awaitility.await()
                        .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .until(() -> !local().isEmpty() || !process.isAlive());
                process.destroy();
                assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(process.exitValue()).isEqualTo(128 + 15);
                assertThat(local()).isEmpty();
            } finally {
                process.destroyForcibly();
            }
        }
    }

    private Process get(NfsFixture fixture) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // It is over before the optimizing compiler pays.
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        "nfs",
                        "get",
                        "--mount-port",
                        Integer.toString(fixture.mountAddress().getPort()),
                        "nfs://127.0.0.1:" + fixture.nfsAddress().getPort() + "/large",
                        local.toString())
                .inheritIO()
                .start();
    }

    private List<String> local() throws IOException {
        try (Stream<Path> files = Files.list(local)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}
