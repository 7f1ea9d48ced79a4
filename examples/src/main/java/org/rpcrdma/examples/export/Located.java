// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.rpcrdma.examples.nfs.Nfs3Status;

/**
 * A file found by its handle, with a path to use until it is closed. The path of a directory is the directory itself,
 * that of another file, and of a directory that the server may not read, is a name in an open directory.
 */
public final class Located implements AutoCloseable {

    private static final int NAME_MAX = 255;

    /** What Java makes of bytes that are not UTF-8: a file of that name would be another one. */
    private static final char REPLACEMENT = '\ufffd';

    private final FileKey key;
    private final OpenDirectory anchor;
    private final Path path;
    private final Export export;
    private final UnixAttributes attributes;

    /** @param anchor its reference passes to this object */
    Located(
            Export export,
            FileKey key,
            OpenDirectory anchor,
            Path path,
            UnixAttributes attributes) {
        this.export = export;
        this.key = key;
        this.anchor = anchor;
        this.path = path;
        this.attributes = attributes;
    }

    public FileKey key() {
        return key;
    }

    /** Never to be followed if it is a symbolic link. */
    public Path path() {
        return path;
    }

    /** For attributes, with {@link #options}. */
    public Path self() {
        return path == anchor.path() ? anchor.self() : path;
    }

    /** How {@link #self} has to be used. */
    public LinkOption[] options() {
        return path == anchor.path()
                ? Descriptors.options()
                : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
    }

    /** As they were when the file was found. */
    public UnixAttributes attributes() {
        return attributes;
    }

    /**
     * As they are now.
     *
     * @throws NoSuchFileException when the name is another file's by now
     */
    public UnixAttributes currentAttributes() throws IOException {
        UnixAttributes now = export.attributes(self(), options());
        if (!export.key(now).equals(key)) {
            throw new NoSuchFileException(path.toString(), null, "another file has the name");
        }
        return now;
    }

    /**
     * Opens a regular file. Between the look at the name and its use nobody else must change names: opening a pipe
     * would wait for its other end.
     *
     * @throws NoSuchFileException when the name is another file's by now
     */
    public OpenFile open(StandardOpenOption how) throws IOException {
        currentAttributes().requireRegular();
        return new OpenFile(
                export, key, FileChannel.open(path, Set.of(how, LinkOption.NOFOLLOW_LINKS)), path);
    }

    /**
     * Makes a regular file in this directory, for the server's user alone.
     *
     * @throws java.nio.file.FileAlreadyExistsException if there is something of that name, of any kind
     */
    public OpenFile create(String name) throws IOException {
        Path made = child(name);
        FileChannel channel =
                FileChannel.open(
                        made,
                        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                        PosixFilePermissions.asFileAttribute(
                                PosixFilePermissions.fromString("rw-------")));
        return new OpenFile(export, null, channel, made);
    }

    /**
     * As it is, a directory.
     *
     * @throws NfsException if it is none; it is closed then
     */
    public Located requireDirectory() throws NfsException {
        try {
            checkDirectory();
            return this;
        } catch (NfsException e) {
            close();
            throw e;
        }
    }

    private void checkDirectory() throws NfsException {
        if (!attributes.isDirectory()) {
            throw new NfsException(Nfs3Status.NFS3ERR_NOTDIR, "not a directory");
        } else if (path != anchor.path()) {
            // Only a name, which may lead elsewhere by now.
            throw new NfsException(Nfs3Status.NFS3ERR_ACCES, "the server may not read it");
        }
    }

    /**
     * The path of one name in this directory.
     *
     * @throws NfsException if this is no directory or the name could mean anything but an entry of it
     */
    public Path child(String name) throws NfsException {
        checkDirectory();
        if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('\0') >= 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not a name: '" + name + "'");
        }
        if (name.indexOf('/') >= 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_ACCES, "a name with a slash: '" + name + "'");
        }
        requireUtf8(name);
        if (name.length() > NAME_MAX) {
            throw new NfsException(
                    Nfs3Status.NFS3ERR_NAMETOOLONG, "a name of " + name.length() + " characters");
        }
        return path.resolve(name);
    }

    /** @throws NfsException if a name or a path is not UTF-8 */
    public static String requireUtf8(String text) throws NfsException {
        if (text.indexOf(REPLACEMENT) >= 0) {
            throw new NfsException(Nfs3Status.NFS3ERR_INVAL, "not UTF-8: '" + text + "'");
        }
        return text;
    }

    /** The attributes of one name in this directory, {@code null} if there is none. */
    public UnixAttributes childAttributes(String name) throws IOException {
        return export.attributesIfExists(child(name));
    }

    /** As {@link #childAttributes}, of a name that there is. */
    public UnixAttributes existing(String name) throws IOException {
        UnixAttributes attributes = childAttributes(name);
        if (attributes == null) {
            throw new NoSuchFileException(name);
        }
        return attributes;
    }

    @Override
    public void close() {
        anchor.release();
    }
}
