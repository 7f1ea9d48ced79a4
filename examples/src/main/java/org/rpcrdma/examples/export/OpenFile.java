// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** A regular file held open: what is done by this object is done to this very file, whatever becomes of its name. */
public final class OpenFile implements AutoCloseable {

    private final Export export;
    private final FileKey key;
    private final FileChannel channel;
    private final Path name;

    /** @param key of the file, {@code null} for one that was made by being opened */
    OpenFile(Export export, FileKey key, FileChannel channel, Path name) throws IOException {
        this.export = export;
        this.key = key;
        this.channel = channel;
        this.name = name;
        try {
            attributes();
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    public FileChannel channel() {
        return channel;
    }

    /** For attributes, with {@link #options}. */
    public Path path() {
        return Descriptors.areKnown() ? Descriptors.path(channel) : name;
    }

    /** How {@link #path} has to be used. */
    public LinkOption[] options() {
        return Descriptors.options();
    }

    /** As they are now. */
    public UnixAttributes attributes() throws IOException {
        UnixAttributes now = export.attributes(path(), options());
        if (key != null && !export.key(now).equals(key)) {
            throw new NoSuchFileException(name.toString(), null, "another file has the name");
        }
        return now;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
