// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.FileDescriptor;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Paths through open descriptors ({@code /proc/self/fd/N}): what is done by such a path is done to the very file that
 * is open, whoever renames it or puts another one in its place. Java has no such operations for links, renames and new
 * directories, and {@code SecureDirectoryStream} knows neither link counts nor change times.
 *
 * <p>Where the number of a descriptor cannot be had (no {@code /proc}, or no {@code --add-opens}) paths are ordinary
 * ones, whose components were checked one by one: safe against clients, not against races with local users.
 */
final class Descriptors {

    private static final Logger LOG = LoggerFactory.getLogger(Descriptors.class);
    private static final Path DIRECTORY = Path.of("/proc/self/fd");
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
            LOG.debug("Files are found by their path", e);
            channelDescriptor = null;
        }
        CHANNEL_DESCRIPTOR = Files.isDirectory(DIRECTORY) ? channelDescriptor : null;
        DESCRIPTOR_NUMBER = descriptorNumber;
    }

    private Descriptors() {}

    static boolean areKnown() {
        return CHANNEL_DESCRIPTOR != null;
    }

    /** How a path to what is open itself has to be used. */
    static LinkOption[] options() {
        return areKnown() ? new LinkOption[0] : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
    }

    /** A symbolic link of the system's that leads to what is open; only where descriptors are known. */
    static Path path(FileChannel open) {
        try {
            return DIRECTORY.resolve(
                    Integer.toString(DESCRIPTOR_NUMBER.getInt(CHANNEL_DESCRIPTOR.get(open))));
        } catch (IllegalAccessException e) {
            throw new AssertionError("was made accessible", e);
        }
    }

    /** Where what is open is now, among all files of this machine. */
    static Path place(FileChannel open) throws IOException {
        return Files.readSymbolicLink(path(open));
    }
}
