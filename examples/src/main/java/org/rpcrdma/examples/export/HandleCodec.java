// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File handles of 32 bytes: device (4), inode (8), generation (8) and a keyed digest (12) of these, so that a client
 * can name only files that the server has shown it. The key is kept in a file of the server's user: handles stay good
 * when the server starts again. Thread-safe.
 */
final class HandleCodec {

    private static final int LENGTH = 32;

    private static final Logger LOG = LoggerFactory.getLogger(HandleCodec.class);
    private static final int IDENTITY_LENGTH = 20;
    private static final int KEY_LENGTH = 32;
    private static final String ALGORITHM = "HmacSHA256";
    private static final Set<PosixFilePermission> OWNER_ONLY =
            PosixFilePermissions.fromString("rw-------");

    private final ThreadLocal<Mac> digests;

    HandleCodec(byte[] key) {
        SecretKeySpec spec = new SecretKeySpec(key, ALGORITHM);
        digests = ThreadLocal.withInitial(() -> newDigest(spec));
    }

    /**
     * Takes the key from a file, which is made when it is missing.
     *
     * @param keyFile read and written only by the server's user
     */
    static HandleCodec withKeyFile(Path keyFile) {
        byte[] key = new byte[KEY_LENGTH];
        new SecureRandom().nextBytes(key);
        try {
            Files.createDirectories(keyFile.getParent());
            // CREATE_NEW: of two servers that start at once, one makes the key and the other
            // reads it.
            try (FileChannel file =
                    FileChannel.open(
                            keyFile,
                            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                            PosixFilePermissions.asFileAttribute(OWNER_ONLY))) {
                file.write(ByteBuffer.wrap(key));
            } catch (FileAlreadyExistsException exists) {
                key = read(keyFile);
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.warn(
                    "File handles will not survive a restart: the key file {} cannot be used: {}",
                    keyFile,
                    e.toString());
        }
        return new HandleCodec(key);
    }

    private static byte[] read(Path keyFile) throws IOException {
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(keyFile);
        if (!OWNER_ONLY.containsAll(mode)) {
            throw new IOException(
                    "has the mode "
                            + PosixFilePermissions.toString(mode)
                            + ", so others may know the key; remove it");
        }
        byte[] key = Files.readAllBytes(keyFile);
        if (key.length != KEY_LENGTH) {
            throw new IOException(
                    "has " + key.length + " bytes (expected: " + KEY_LENGTH + "); remove it");
        }
        return key;
    }

    NfsHandle encode(FileKey key) {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH);
        bytes.putInt(key.device()).putLong(key.inode()).putLong(key.generation());
        bytes.put(digest(bytes.array()));
        return new NfsHandle(bytes.array());
    }

    /** @throws NfsException NFS3ERR_BADHANDLE for what {@link #encode} has not made */
    FileKey decode(NfsHandle handle) throws NfsException {
        byte[] bytes = handle.bytes();
        if (bytes.length != LENGTH
                || !MessageDigest.isEqual(
                        digest(bytes), Arrays.copyOfRange(bytes, IDENTITY_LENGTH, LENGTH))) {
            throw new NfsException(
                    Nfs3Status.NFS3ERR_BADHANDLE, "a file handle that this server has not made");
        }
        ByteBuffer fields = ByteBuffer.wrap(bytes);
        return new FileKey(fields.getInt(), fields.getLong(), fields.getLong());
    }

    private byte[] digest(byte[] bytes) {
        Mac digest = digests.get();
        digest.update(bytes, 0, IDENTITY_LENGTH);
        return Arrays.copyOf(digest.doFinal(), LENGTH - IDENTITY_LENGTH);
    }

    private static Mac newDigest(SecretKeySpec key) {
        try {
            Mac digest = Mac.getInstance(ALGORITHM);
            digest.init(key);
            return digest;
        } catch (GeneralSecurityException e) {
            throw new AssertionError("every Java platform has " + ALGORITHM, e);
        }
    }
}
