// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import io.netty.util.AbstractReferenceCounted;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/** A directory held open, and a path that stays its path ({@link Descriptors}): no race can lead out of the export. */
final class OpenDirectory extends AbstractReferenceCounted {

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
        // The dot makes the path name the directory and not the link to it.
        return new OpenDirectory(
                descriptor,
                Descriptors.areKnown() ? Descriptors.path(descriptor).resolve(".") : directory);
    }

    /** Good while a reference is held. */
    Path path() {
        return path;
    }

    /** For its own attributes, with {@link Descriptors#options}: takes no right to search it, as its path does. */
    Path self() {
        return Descriptors.areKnown() ? Descriptors.path(descriptor) : path;
    }

    /** Whether this directory is that one or below it, wherever somebody has moved it. */
    boolean isWithin(OpenDirectory other) throws IOException {
        return !Descriptors.areKnown()
                || Descriptors.place(descriptor).startsWith(Descriptors.place(other.descriptor));
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
}
