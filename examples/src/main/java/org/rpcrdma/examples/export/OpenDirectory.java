// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import io.netty.util.AbstractReferenceCounted;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A directory held open, and a path through the open descriptor ({@code /proc/self/fd/N/.}): what is done below that
 * path is done in this very directory, even if someone renames it or puts a symbolic link in its place meanwhile. So no
 * race can lead out of the export. Java has no such operation for links, renames and new directories, and {@code
 * SecureDirectoryStream} knows neither link counts nor change times.
 *
 * <p>Where the descriptor's number cannot be had (no {@code /proc}, or no {@code --add-opens}) the path is the ordinary
 * one, built from components that were checked one by one: safe against clients, not against races with local users.
 */
final class OpenDirectory extends AbstractReferenceCounted {

    private static final Logger LOG = LoggerFactory.getLogger(OpenDirectory.class);
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final Field CHANNEL_DESCRIPTOR;
    private static final Field DESCRIPTOR_NUMBER;

    static {
        Field channelDescriptor = null;
        Field descriptorNumber = null;
        try {
            channelDescriptor = Class.forName("sun.nio.ch.FileChannelImpl").getDeclaredField("fd");
            channelDescriptor.setAccessible(true);
            descriptorNumber = FileDescriptor.class.getDeclaredField("fd");
            descriptorNumber.setAccessible(true);
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Directories are found by their path", e);
            channelDescriptor = null;
        }
        CHANNEL_DESCRIPTOR = Files.isDirectory(DESCRIPTORS) ? channelDescriptor : null;
        DESCRIPTOR_NUMBER = descriptorNumber;
    }

    private final FileChannel descriptor;
    private final Path path;

    private OpenDirectory(FileChannel descriptor, Path path) {
        this.descriptor = descriptor;
        this.path = path;
    }

    /**
     * @param directory not a symbolic link
     * @return with one reference, owned by the caller
     */
    static OpenDirectory open(Path directory) throws IOException {
        // Asked first because opening a pipe would wait for its other end.
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            throw new NotDirectoryException(directory.toString());
        }
        FileChannel descriptor =
                FileChannel.open(
                        directory, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
        return new OpenDirectory(descriptor, isAnchored() ? descriptorPath(descriptor) : directory);
    }

    /** Whether {@link #path} stays good when the directory is renamed. */
    static boolean isAnchored() {
        return CHANNEL_DESCRIPTOR != null;
    }

    /** Good while a reference is held. */
    Path path() {
        return path;
    }

    @Override
    protected void deallocate() {
        try {
            descriptor.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public OpenDirectory retain() {
        super.retain();
        return this;
    }

    @Override
    public OpenDirectory touch(Object hint) {
        return this;
    }

    private static Path descriptorPath(FileChannel descriptor) {
        try {
            int number = DESCRIPTOR_NUMBER.getInt(CHANNEL_DESCRIPTOR.get(descriptor));
            // The dot makes the path name the directory and not the link to it.
            return DESCRIPTORS.resolve(number + "/.");
        } catch (IllegalAccessException e) {
            throw new AssertionError("was made accessible", e);
        }
    }
}
