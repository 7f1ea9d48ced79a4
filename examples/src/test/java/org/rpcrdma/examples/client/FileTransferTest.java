// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.examples.NfsFixture;
import org.rpcrdma.examples.nfs.NfsHandle;

class FileTransferTest {

    private static final int[] SIZES = {
        0, 1, 3, 4, 1000, 4095, 4096, 4097, 65_537, 1_000_001, 1 << 20, 5_000_003
    };

    @TempDir private Path directory;
    @TempDir private Path local;

    @ParameterizedTest
    @EnumSource(NfsFixture.Transport.class)
    void filesOfAllSizesGoThereAndBack(NfsFixture.Transport transport) throws IOException {
        Random random = new Random(1);
        try (NfsFixture fixture =
                new NfsFixture(transport, directory, local.resolve("key"), false)) {
            NfsHandle root = fixture.root();
            Nfs3Client.Limits limits = fixture.nfs().limits(root);
            for (int size : SIZES) {
                byte[] content = new byte[size];
                random.nextBytes(content);
                Path original = Files.write(local.resolve("o" + size), content);
                Path returned = local.resolve("r" + size);
                Nfs3Client.Found made = fixture.nfs().create(root, "f" + size, 0600);
                AtomicLong progress = new AtomicLong();
                FileTransfer transfer =
                        new FileTransfer(fixture.nfs(), limits, progress::addAndGet);
                try (FileChannel file = FileChannel.open(original, StandardOpenOption.READ)) {
                    transfer.put(file, made.handle(), "f" + size);
                }
                assertThat(directory.resolve("f" + size)).hasBinaryContent(content);
                assertThat(progress).hasValue(size);
                try (FileChannel file =
                        FileChannel.open(
                                returned,
                                StandardOpenOption.CREATE_NEW,
                                StandardOpenOption.WRITE)) {
                    transfer.get(made.handle(), "f" + size, size, file);
                }
                assertThat(returned).hasBinaryContent(content);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(NfsFixture.Transport.class)
    void aFileThatBecameShorterIsToldOf(NfsFixture.Transport transport) throws IOException {
        Files.write(directory.resolve("f"), new byte[10_000]);
        Path returned = local.resolve("r");
        try (NfsFixture fixture =
                        new NfsFixture(transport, directory, local.resolve("key"), false);
                FileChannel file =
                        FileChannel.open(
                                returned,
                                StandardOpenOption.CREATE_NEW,
                                StandardOpenOption.WRITE)) {
            Nfs3Client.Found found = fixture.session().find("/f");
            FileTransfer transfer =
                    new FileTransfer(fixture.nfs(), new Nfs3Client.Limits(4096, 4096), bytes -> {});
            assertThatThrownBy(() -> transfer.get(found.handle(), "f", 1_000_000, file))
                    .hasMessage("f: the file became shorter while it was read");
        }
    }
}
