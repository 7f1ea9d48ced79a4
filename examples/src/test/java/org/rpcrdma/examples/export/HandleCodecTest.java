// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.examples.nfs.NfsHandle;

class HandleCodecTest {

    private final HandleCodec codec = new HandleCodec(new byte[32]);

    @TempDir private Path directory;

    @Property
    void handlesComeBackAndChangedOnesDoNot(
            @ForAll int device,
            @ForAll long inode,
            @ForAll long generation,
            @ForAll @IntRange(max = 32 * 8 - 1) int bit)
            throws NfsException {
        FileKey key = new FileKey(device, inode, generation);
        NfsHandle handle = codec.encode(key);
        assertThat(handle.bytes()).hasSize(32);
        assertThat(codec.decode(handle)).isEqualTo(key);
        byte[] changed = handle.bytes().clone();
        changed[bit / 8] ^= (byte) (1 << bit % 8);
        NfsHandle forged = new NfsHandle(changed);
        assertThatThrownBy(() -> codec.decode(forged)).isInstanceOf(NfsException.class);
    }

    @Test
    void theKeyIsKeptAndForTheOwnerOnly() throws IOException {
        Path keyFile = directory.resolve("state/key");
        FileKey key = new FileKey(1, 2, 3);
        NfsHandle handle = HandleCodec.withKeyFile(keyFile).encode(key);
        assertThat(HandleCodec.withKeyFile(keyFile).decode(handle)).isEqualTo(key);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(keyFile)))
                .isEqualTo("rw-------");
        assertThatThrownBy(() -> HandleCodec.withKeyFile(directory.resolve("other")).decode(handle))
                .isInstanceOf(NfsException.class);
    }

    /** Whoever has the key can name any file. */
    @Test
    void aKeyThatOthersMayKnowIsNotUsed() throws IOException {
        Path keyFile = directory.resolve("key");
        FileKey key = new FileKey(1, 2, 3);
        NfsHandle handle = HandleCodec.withKeyFile(keyFile).encode(key);
        for (String mode : List.of("rw-r-----", "rw--w----", "rw----r--", "rw-----w-")) {
            Files.setPosixFilePermissions(keyFile, PosixFilePermissions.fromString(mode));
            HandleCodec other = HandleCodec.withKeyFile(keyFile);
            assertThatThrownBy(() -> other.decode(handle)).isInstanceOf(NfsException.class);
            assertThat(other.decode(other.encode(key))).isEqualTo(key);
        }
        Files.setPosixFilePermissions(keyFile, PosixFilePermissions.fromString("r--------"));
        assertThat(HandleCodec.withKeyFile(keyFile).decode(handle)).isEqualTo(key);
    }

    @Test
    void withoutAKeyFileThereAreHandlesAllTheSame() throws IOException {
        HandleCodec unkept =
                HandleCodec.withKeyFile(Files.createFile(directory.resolve("file")).resolve("key"));
        FileKey key = new FileKey(1, 2, 3);
        assertThat(unkept.decode(unkept.encode(key))).isEqualTo(key);
    }
}
