// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.time.Instant;
import java.util.Set;
import java.util.UUID;

/** Creates and opens files with rings, in a directory known to both ends. Single-threaded. */
public final class SharedRingFileFactory {

    /** The smallest and the largest ring, a power of two. */
    public static final int MIN_RING_BYTES = 4096;

    public static final int MAX_RING_BYTES = 16 << 20;

    private static final String PREFIX = "rpcrdma-";

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(SharedRingFileFactory.class);

    private static final Set<PosixFilePermission> OWNER_ONLY =
            PosixFilePermissions.fromString("rw-------");

    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(OWNER_ONLY);

    /** Memory of the system; a file elsewhere might be written to a disk now and then. */
    private static final Path SHM = Path.of("/dev/shm");

    private final Path directory;
    private final SharedRingFile.Mapper mapper;
    private final UserPrincipal user;

    /**
     * Files in a directory. Deletes files left there by terminated processes.
     *
     * @throws IOException when no files with access for the owner only can be created there
     */
    public SharedRingFileFactory(Path directory) throws IOException {
        this(directory, SharedRingFile.MAPPER);
    }

    SharedRingFileFactory(Path directory, SharedRingFile.Mapper mapper) throws IOException {
        this.directory = directory;
        this.mapper = mapper;
        Path probe = path(ProcessHandle.current().pid(), UUID.randomUUID());
        try (FileChannel file = newFile(probe)) {
            user = Files.getOwner(probe, LinkOption.NOFOLLOW_LINKS);
        } finally {
            Files.deleteIfExists(probe);
        }
        sweep();
    }

    /** {@code /dev/shm} where it can be written, {@code java.io.tmpdir} otherwise. */
    public static Path standardDirectory() {
        return Files.isDirectory(SHM) && Files.isWritable(SHM)
                ? SHM
                : Path.of(System.getProperty("java.io.tmpdir"));
    }

    private static FileChannel newFile(Path path) throws IOException {
        try {
            return FileChannel.open(
                    path,
                    Set.of(
                            StandardOpenOption.CREATE_NEW,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE),
                    PRIVATE);
        } catch (UnsupportedOperationException e) {
            throw new IOException("Files of " + path.getParent() + " have no owner's mode", e);
        }
    }

    private Path path(long process, UUID file) {
        return directory.resolve(PREFIX + process + "-" + file);
    }

    /**
     * Deletes files of terminated processes. If a process id was reused, by another process than this one, a file stays
     * until that process ends.
     */
    private void sweep() {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, PREFIX + "*-*")) {
            files.forEach(this::sweep);
        } catch (IOException | RuntimeException e) {
            LOGGER.debug("Looking for leftovers in {} failed", directory, e);
        }
    }

    /** Whatever is the matter with one file, the others have nothing to do with it. */
    private void sweep(Path file) {
        String name = file.getFileName().toString();
        try {
            long process = Long.parseLong(name.split("-", 3)[1]);
            if (isLeftover(process, file)
                    && Files.getOwner(file, LinkOption.NOFOLLOW_LINKS).equals(user)) {
                Files.deleteIfExists(file);
            }
        } catch (NumberFormatException | NoSuchFileException e) {
            LOGGER.trace("{} is not ours, or gone", file, e);
        } catch (IOException | RuntimeException e) {
            LOGGER.debug("Deleting the leftover {} failed", file, e);
        }
    }

    /** After a restart of a container its process has the number again that the terminated one had. */
    private static boolean isLeftover(long process, Path file) throws IOException {
        ProcessHandle self = ProcessHandle.current();
        if (process != self.pid()) {
            return ProcessHandle.of(process).isEmpty();
        }
        Instant start = self.info().startInstant().orElse(Instant.MIN);
        return Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS)
                .toInstant()
                .isBefore(start);
    }

    /**
     * Makes a file with all of its pages and maps it, for the initiator of a connection.
     *
     * @param file its name, random
     * @throws IOException when there is no room for it
     */
    public SharedRingFile create(UUID file, UUID nonce, int ringBytes) throws IOException {
        // Others need some, too.
        long room = directory.toFile().getUsableSpace();
        if (room < 2 * SharedRingFile.size(ringBytes)) {
            throw new IOException(directory + " has only " + room + " bytes left");
        }
        Path path = path(ProcessHandle.current().pid(), file);
        try (FileChannel channel = newFile(path)) {
            return SharedRingFile.create(path, channel, mapper, ringBytes, nonce);
        } catch (FileAlreadyExistsException e) {
            throw e;
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            Files.deleteIfExists(path);
            throw e;
        }
    }

    /**
     * Maps a file that the initiator of a connection has announced, and takes its name away.
     *
     * @param responders this end's nonce, which goes into the file
     * @throws IOException when the file does not exist, or is not a valid file of this user
     */
    public SharedRingFile join(SharedMemoryOffer offer, UUID responders) throws IOException {
        Path path = path(offer.process(), offer.file());
        PosixFileAttributes found =
                Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!found.isRegularFile()) {
            throw new IOException(path + " is not a regular file");
        }
        if (!found.owner().equals(user)) {
            throw new IOException(path + " is of " + found.owner() + ", expected " + user);
        }
        if (!found.permissions().equals(OWNER_ONLY)) {
            throw new IOException(
                    path + " has mode " + PosixFilePermissions.toString(found.permissions()));
        }
        if (found.size() != SharedRingFile.size(offer.ringBytes())) {
            throw new IOException(path + " has " + found.size() + " bytes, not as announced");
        }
        try (FileChannel channel =
                FileChannel.open(
                        path,
                        Set.of(
                                StandardOpenOption.READ,
                                StandardOpenOption.WRITE,
                                LinkOption.NOFOLLOW_LINKS))) {
            // Mapping would make a file longer that has become shorter meanwhile.
            if (channel.size() != found.size()) {
                throw new IOException(path + " has changed while it was opened");
            }
            SharedRingFile rings =
                    SharedRingFile.join(
                            path, channel, mapper, offer.ringBytes(), offer.nonce(), responders);
            rings.unlink();
            return rings;
        }
    }
}
