// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.Set;
import org.rpcrdma.examples.common.Printable;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.rpcrdma.examples.nfs.NfsHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An exported directory. It finds files by handles and hands out handles for files.
 *
 * <p>A handle names the inode, not the path, so it survives renames and restarts. Java cannot open a file by its inode:
 * an index says where each one was last seen, every use checks that the inode is still there, and what is not there is
 * looked for ({@link FileSearch}). Files outside are never found, whatever a handle says. Thread-safe.
 */
public final class Export implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Export.class);
    private static final int OPEN_DIRECTORIES = 256;

    /** Of the heap, for each file of the index; names of the longest kind take less. */
    private static final int BYTES_PER_FILE = 1024;

    /** Each level of a search has two open descriptors; what is deeper is found only by those who have come there. */
    private static final int DEPTH_MAX = 256;

    private final boolean readOnly;
    private final HandleCodec handles;
    private final OpenDirectory root;
    private final FileKey rootKey;
    private final long fsid;
    private final boolean hasBirthTimes;
    private final FileIndex index;
    private final DirectoryCache directories = new DirectoryCache(OPEN_DIRECTORIES);
    private final FileSearch search = new FileSearch(this::walk);

    /**
     * @param directory what clients see as {@code /}
     * @param keyFile keeps the key of the file handles from one start to the next
     * @throws IOException if the directory cannot be read
     */
    public Export(Path directory, boolean readOnly, Path keyFile) throws IOException {
        this(directory, readOnly, keyFile, Runtime.getRuntime().maxMemory() / BYTES_PER_FILE);
    }

    /** Without symbolic links, as far as it is there already. */
    private static Path realPath(Path file) throws IOException {
        Path there = file.toAbsolutePath().normalize();
        Path missing = Path.of("");
        while (!Files.exists(there)) {
            missing = there.getFileName().resolve(missing);
            there = there.getParent();
        }
        return there.toRealPath().resolve(missing);
    }

    /** @param namesMax how many names of files the index has at most */
    Export(Path directory, boolean readOnly, Path keyFile, long namesMax) throws IOException {
        this.readOnly = readOnly;
        index = new FileIndex(namesMax);
        // The user may name the export by a symbolic link; nothing below it is followed.
        Path real = directory.toRealPath();
        if (realPath(keyFile).startsWith(real)) {
            throw new IOException(
                    keyFile
                            + ", the key of all file handles, is in the export: set"
                            + " XDG_STATE_HOME");
        }
        handles = HandleCodec.withKeyFile(keyFile);
        root = OpenDirectory.open(real);
        try {
            fsid = UnixAttributes.read(root.path(), 0, LinkOption.NOFOLLOW_LINKS).fsid();
            hasBirthTimes = probeBirthTimes(directory);
            rootKey = key(attributes(root.path(), LinkOption.NOFOLLOW_LINKS));
        } catch (IOException | RuntimeException e) {
            root.release();
            throw e;
        }
    }

    public boolean isReadOnly() {
        return readOnly;
    }

    /** The file system of the export itself. */
    public FileStore fileStore() throws IOException {
        return Files.getFileStore(root.path());
    }

    public NfsHandle rootHandle() {
        return handles.encode(rootKey);
    }

    /** What to call a file of this export in handles and in locks. */
    public FileKey key(UnixAttributes attributes) {
        return new FileKey(
                attributes.device(),
                attributes.inode(),
                hasBirthTimes ? attributes.birthNanos() : 0);
    }

    /** Gives out a handle for what was seen as an entry of a directory. */
    public NfsHandle handle(FileKey directory, String name, UnixAttributes attributes) {
        remember(attributes, directory, name);
        return handles.encode(key(attributes));
    }

    public NfsHandle handle(Located file) {
        return handles.encode(file.key());
    }

    /** A file has lost a name. */
    public void forget(UnixAttributes file, FileKey directory, String name) {
        index.remove(key(file), new FileIndex.Link(directory, name));
    }

    /** A file has a name. */
    public void remember(UnixAttributes file, FileKey directory, String name) {
        index.add(key(file), file.isDirectory(), directory, name);
    }

    /**
     * Finds a file.
     *
     * @return to be closed
     * @throws NfsException NFS3ERR_BADHANDLE; NFS3ERR_STALE if the file is not in the export any more, NFS3ERR_JUKEBOX
     *     as long as that is not known
     */
    public Located locate(NfsHandle handle) throws IOException {
        return locate(handles.decode(handle));
    }

    /**
     * Finds a file by its path below the export.
     *
     * @param path names with slashes between; symbolic links are not followed
     * @return to be closed
     * @throws NfsException NFS3ERR_NOENT and the like
     */
    public Located locate(String path) throws IOException {
        Located found = locate(rootKey);
        for (String name : path.split("/", -1)) {
            if (!name.isEmpty()) {
                try (Located directory = found) {
                    UnixAttributes attributes = directory.childAttributes(name);
                    if (attributes == null) {
                        throw new NfsException(Nfs3Status.NFS3ERR_NOENT, "no '" + name + "'");
                    }
                    found = locate(handle(directory.key(), name, attributes));
                }
            }
        }
        return found;
    }

    /** The directory above, the root itself above the root. */
    public Located locateParent(Located directory) throws IOException {
        if (directory.key().equals(rootKey)) {
            return locate(rootKey);
        }
        OpenDirectory parent = OpenDirectory.open(directory.path().resolve(".."));
        try {
            UnixAttributes attributes = attributes(parent.path(), LinkOption.NOFOLLOW_LINKS);
            if (parent.isWithin(root)) {
                return new Located(this, key(attributes), parent, parent.path(), attributes);
            }
        } catch (IOException | RuntimeException e) {
            parent.release();
            throw e;
        }
        parent.release();
        throw new NfsException(Nfs3Status.NFS3ERR_STALE, "moved out of the export");
    }

    @Override
    public void close() {
        search.close();
        directories.close();
        root.release();
    }

    private Located locate(FileKey key) throws IOException {
        Located found = locateByIndex(key);
        if (found == null) {
            // The index may have changed under the search, by a rename.
            found = locateByIndex(key);
        }
        if (found == null) {
            throw search.miss(key);
        }
        return found;
    }

    private Located locateByIndex(FileKey key) throws IOException {
        OpenDirectory open = null;
        boolean isClosed = false;
        try {
            open = openDirectory(key);
        } catch (AccessDeniedException e) {
            // It has attributes, which its owner may want to change.
            isClosed = true;
        }
        if (open != null) {
            UnixAttributes attributes = readOrRelease(open, open.path());
            if (attributes != null && attributes.links() > 0) {
                return new Located(this, key, open, open.path(), attributes);
            }
            open.release();
            directories.remove(key);
        }
        for (FileIndex.Link link : index.links(key)) {
            OpenDirectory directory = openDirectory(link.directory());
            if (directory != null) {
                Path path = directory.path().resolve(link.name());
                UnixAttributes attributes = readOrRelease(directory, path);
                if (attributes != null
                        && (isClosed || !attributes.isDirectory())
                        && key(attributes).equals(key)) {
                    return new Located(this, key, directory, path, attributes);
                }
                directory.release();
            }
            index.remove(key, link);
        }
        return null;
    }

    /** One step of a way down. */
    private record Step(FileIndex.Link link, FileKey key) {}

    /**
     * Opens a directory by the names of all those above it, from the nearest one that is open.
     *
     * @return with a reference for the caller; {@code null} if it is not where the index says, or no directory
     */
    private OpenDirectory openDirectory(FileKey key) throws IOException {
        ArrayDeque<Step> way = new ArrayDeque<>();
        FileKey at = key;
        OpenDirectory open = held(at);
        while (open == null) {
            var links = index.links(at);
            // A directory has one name; a circle is made of old ones.
            if (links.size() != 1 || way.size() == DEPTH_MAX) {
                return null;
            }
            way.push(new Step(links.get(0), at));
            at = links.get(0).directory();
            open = held(at);
        }
        while (open != null && !way.isEmpty()) {
            Step step = way.pop();
            OpenDirectory parent = open;
            try {
                open = openChild(parent, step.link().name(), step.key());
            } finally {
                parent.release();
            }
            if (open != null && Descriptors.areKnown()) {
                directories.put(step.key(), open);
            }
        }
        return open;
    }

    /** The root, or one that is open and has not been moved out of the export; {@code null} otherwise. */
    private OpenDirectory held(FileKey key) throws IOException {
        if (key.equals(rootKey)) {
            return root.retain();
        }
        OpenDirectory open = directories.get(key);
        if (open != null && !isWithinRoot(open)) {
            open.release();
            directories.remove(key);
            return null;
        }
        return open;
    }

    /** A directory whose path is too long for the system to tell is looked for by its names again. */
    private boolean isWithinRoot(OpenDirectory open) {
        try {
            return open.isWithin(root);
        } catch (IOException e) {
            return false;
        }
    }

    /** @return with a reference for the caller; {@code null} if the name is no longer that directory's */
    private OpenDirectory openChild(OpenDirectory parent, String name, FileKey expected)
            throws IOException {
        OpenDirectory child;
        try {
            child = OpenDirectory.open(parent.path().resolve(name));
        } catch (NoSuchFileException | NotDirectoryException e) {
            return null;
        }
        UnixAttributes attributes = readOrRelease(child, child.path());
        if (attributes == null || !key(attributes).equals(expected)) {
            child.release();
            return null;
        }
        return child;
    }

    private UnixAttributes readOrRelease(OpenDirectory directory, Path path) throws IOException {
        try {
            return path == directory.path()
                    ? UnixAttributes.readIfExists(directory.self(), fsid, Descriptors.options())
                    : attributesIfExists(path);
        } catch (IOException | RuntimeException e) {
            directory.release();
            throw e;
        }
    }

    UnixAttributes attributes(Path path, LinkOption... options) throws IOException {
        return UnixAttributes.read(path, fsid, options);
    }

    /** {@code null} if there is no such file. */
    UnixAttributes attributesIfExists(Path path) throws IOException {
        return UnixAttributes.readIfExists(path, fsid, LinkOption.NOFOLLOW_LINKS);
    }

    private void walk(Set<FileKey> sought) {
        root.retain();
        try {
            walk(root, rootKey, new ArrayDeque<>(), sought);
        } finally {
            root.release();
        }
    }

    /** @param way from the root down to the directory */
    private void walk(
            OpenDirectory directory, FileKey key, ArrayDeque<Step> way, Set<FileKey> sought) {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory.path())) {
            for (Path entry : entries) {
                if (sought.isEmpty() || Thread.currentThread().isInterrupted()) {
                    return;
                }
                visit(directory, entry, key, way, sought);
            }
        } catch (DirectoryIteratorException e) {
            skip(e.getCause(), sought);
        } catch (IOException e) {
            skip(e, sought);
        }
    }

    /** One directory that cannot be read does not hide the others, unless there is no room for any. */
    private static void skip(IOException failure, Set<FileKey> sought) {
        LOG.debug("A directory is not searched for files: {}", Printable.of(failure));
        if (FailureStatus.of(failure) == Nfs3Status.NFS3ERR_JUKEBOX) {
            sought.clear();
        }
    }

    /** One entry that cannot be looked at does not hide the others either. */
    private void visit(
            OpenDirectory directory,
            Path entry,
            FileKey directoryKey,
            ArrayDeque<Step> way,
            Set<FileKey> sought) {
        try {
            UnixAttributes found = attributesIfExists(entry);
            if (found == null) {
                return;
            }
            FileKey key = key(found);
            FileIndex.Link link = new FileIndex.Link(directoryKey, entry.getFileName().toString());
            if (sought.remove(key)) {
                for (Step step : way) {
                    index.add(step.key(), true, step.link().directory(), step.link().name());
                }
                index.add(key, found.isDirectory(), directoryKey, link.name());
            }
            if (found.isDirectory() && way.size() < DEPTH_MAX) {
                OpenDirectory child = openChild(directory, link.name(), key);
                if (child != null) {
                    way.addLast(new Step(link, key));
                    walk(child, key, way, sought);
                    way.removeLast();
                    child.release();
                }
            }
        } catch (IOException e) {
            skip(e, sought);
        }
    }

    /**
     * Whether the creation time is one. Java answers with the time of the last change where the system does not know
     * it, which must not get into a handle. Where nothing may be written to find out, the answer is no, always.
     */
    private boolean probeBirthTimes(Path directory) throws IOException {
        if (readOnly || !Files.isWritable(directory)) {
            return false;
        }
        Path probe = Files.createTempFile(root.path(), ".rpcrdma", null);
        try {
            Files.setLastModifiedTime(probe, FileTime.fromMillis(0));
            return UnixAttributes.read(probe, 0, LinkOption.NOFOLLOW_LINKS).birthNanos() != 0;
        } finally {
            Files.delete(probe);
        }
    }
}
