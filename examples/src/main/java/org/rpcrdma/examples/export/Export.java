// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.nfs.nfs3.FileHandle;
import org.apache.hadoop.nfs.nfs3.Nfs3Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An exported directory. It finds files by handles and hands out handles for files.
 *
 * <p>A handle names the inode, not the path, so it survives renames and restarts. Java cannot open a file by its inode:
 * an index says where each one was last seen, every use checks that the inode is still there, and when it is not (the
 * server is new, or someone else renamed the file) the export is walked once to fill the index again. Files outside are
 * never in the index, whatever a handle says. Thread-safe.
 */
public final class Export implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Export.class);
    private static final int OPEN_DIRECTORIES = 256;

    /** A walk can be long, and clients decide when a handle is missed: not more often than this. */
    private static final long WALK_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final int DEPTH_MAX = 1024;

    private final boolean readOnly;
    private final HandleCodec handles;
    private final OpenDirectory root;
    private final FileKey rootKey;
    private final long fsid;
    private final boolean hasBirthTimes;
    private final FileIndex index = new FileIndex();
    private final DirectoryCache directories = new DirectoryCache(OPEN_DIRECTORIES);
    private final Object walkLock = new Object();
    private long nextWalkNanos = System.nanoTime();

    /**
     * @param directory what clients see as {@code /}
     * @param keyFile keeps the key of the file handles from one start to the next
     * @throws IOException if the directory cannot be read
     */
    public Export(Path directory, boolean readOnly, Path keyFile) throws IOException {
        this.readOnly = readOnly;
        handles = HandleCodec.withKeyFile(keyFile);
        // The user may name the export by a symbolic link; nothing below it is followed.
        root = OpenDirectory.open(directory.toRealPath());
        try {
            fsid = UnixAttributes.read(root.path(), 0).getFsid();
            hasBirthTimes = probeBirthTimes(directory);
            rootKey = key(attributes(root.path()));
        } catch (IOException | RuntimeException e) {
            root.release();
            throw e;
        }
    }

    public boolean isReadOnly() {
        return readOnly;
    }

    public FileHandle rootHandle() {
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
    public FileHandle handle(FileKey directory, String name, UnixAttributes attributes) {
        FileKey file = key(attributes);
        index.add(file, directory, name);
        return handles.encode(file);
    }

    public FileHandle handle(Located file) {
        return handles.encode(file.key());
    }

    /** A file has lost a name. */
    public void forget(UnixAttributes file, FileKey directory, String name) {
        index.remove(key(file), directory, name);
    }

    /**
     * A file has another name, or is about to get it: told before a rename, so that the file can be found all the time.
     */
    public void remember(UnixAttributes file, FileKey directory, String name) {
        index.add(key(file), directory, name);
    }

    /**
     * Finds a file.
     *
     * @return to be closed
     * @throws NfsException NFS3ERR_BADHANDLE, or NFS3ERR_STALE if the file is not in the export any more
     */
    public Located locate(FileHandle handle) throws IOException {
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
        var links = index.links(directory.key());
        if (links.isEmpty()) {
            throw stale();
        }
        return locate(links.get(0).directory());
    }

    @Override
    public void close() {
        directories.close();
        root.release();
    }

    private Located locate(FileKey key) throws IOException {
        Located found = locateByIndex(key);
        if (found == null) {
            // The index may have changed under the search, by a rename.
            found = locateByIndex(key);
        }
        if (found == null && walk()) {
            found = locateByIndex(key);
        }
        if (found == null) {
            throw stale();
        }
        return found;
    }

    private static NfsException stale() {
        return new NfsException(Nfs3Status.NFS3ERR_STALE, "the file is not in the export any more");
    }

    private Located locateByIndex(FileKey key) throws IOException {
        OpenDirectory open = key.equals(rootKey) ? root.retain() : directories.get(key);
        if (open != null) {
            UnixAttributes attributes = readOrRelease(open, open.path());
            if (attributes != null && attributes.getNlink() > 0) {
                return new Located(this, key, open, open.path(), attributes);
            }
            open.release();
            directories.remove(key);
        }
        for (FileIndex.Link link : index.links(key)) {
            OpenDirectory directory = openDirectory(link.directory(), DEPTH_MAX);
            if (directory != null) {
                Path path = directory.path().resolve(link.name());
                UnixAttributes attributes = readOrRelease(directory, path);
                if (attributes != null && key(attributes).equals(key)) {
                    if (!attributes.isDirectory()) {
                        return new Located(this, key, directory, path, attributes);
                    }
                    OpenDirectory found = openChild(directory, link.name(), key);
                    directory.release();
                    if (found != null) {
                        return new Located(this, key, found, found.path(), attributes);
                    }
                    continue;
                }
                directory.release();
            }
            index.remove(key, link.directory(), link.name());
        }
        return null;
    }

    /** @return with a reference for the caller; {@code null} if it is not where the index says */
    private OpenDirectory openDirectory(FileKey key, int depthLeft) throws IOException {
        if (key.equals(rootKey)) {
            return root.retain();
        }
        OpenDirectory open = directories.get(key);
        if (open != null || depthLeft == 0) {
            return open;
        }
        for (FileIndex.Link link : index.links(key)) {
            OpenDirectory parent = openDirectory(link.directory(), depthLeft - 1);
            if (parent != null) {
                try {
                    open = openChild(parent, link.name(), key);
                } finally {
                    parent.release();
                }
                if (open != null) {
                    return open;
                }
            }
        }
        return null;
    }

    /** @return with a reference for the caller; {@code null} if the name is no longer that directory's */
    private OpenDirectory openChild(OpenDirectory parent, String name, FileKey expected)
            throws IOException {
        OpenDirectory child;
        try {
            child = OpenDirectory.open(parent.path().resolve(name));
        } catch (IOException e) {
            return null;
        }
        UnixAttributes attributes = readOrRelease(child, child.path());
        if (attributes == null || !key(attributes).equals(expected)) {
            child.release();
            return null;
        }
        if (OpenDirectory.isAnchored()) {
            directories.put(expected, child);
        }
        return child;
    }

    private UnixAttributes readOrRelease(OpenDirectory directory, Path path) throws IOException {
        try {
            return UnixAttributes.readIfExists(path, fsid);
        } catch (IOException | RuntimeException e) {
            directory.release();
            throw e;
        }
    }

    UnixAttributes attributes(Path path) throws IOException {
        return UnixAttributes.read(path, fsid);
    }

    /** {@code null} if there is no such file. */
    UnixAttributes attributesIfExists(Path path) throws IOException {
        return UnixAttributes.readIfExists(path, fsid);
    }

    /** @return whether the index may know more now */
    private boolean walk() throws IOException {
        long asked = System.nanoTime();
        synchronized (walkLock) {
            long now = System.nanoTime();
            if (nextWalkNanos - now > 0) {
                // Another thread may have walked while this one waited for the lock.
                return nextWalkNanos - WALK_INTERVAL_NANOS - asked > 0;
            }
            walkAll();
            nextWalkNanos = System.nanoTime() + WALK_INTERVAL_NANOS;
            return true;
        }
    }

    private void walkAll() throws IOException {
        ArrayDeque<FileKey> unread = new ArrayDeque<>();
        Set<FileKey> seen = new HashSet<>();
        unread.add(rootKey);
        while (!unread.isEmpty()) {
            FileKey key = unread.remove();
            OpenDirectory directory = openDirectory(key, DEPTH_MAX);
            if (directory == null || !seen.add(key)) {
                if (directory != null) {
                    directory.release();
                }
                continue;
            }
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory.path())) {
                for (Path entry : entries) {
                    UnixAttributes attributes = UnixAttributes.readIfExists(entry, fsid);
                    if (attributes != null) {
                        FileKey file = key(attributes);
                        index.add(file, key, entry.getFileName().toString());
                        if (attributes.isDirectory()) {
                            unread.add(file);
                        }
                    }
                }
            } catch (DirectoryIteratorException | FileSystemException e) {
                // One directory that cannot be read does not hide the others.
                LOG.debug("A directory is not searched for files", e);
            } finally {
                directory.release();
            }
        }
    }

    /**
     * Whether the creation time is one. Java answers with the time of the last change where the system does not know
     * it, which must not get into a handle.
     */
    private boolean probeBirthTimes(Path directory) throws IOException {
        if (!readOnly && Files.isWritable(directory)) {
            Path probe = Files.createTempFile(root.path(), ".rpcrdma", null);
            try {
                Files.setLastModifiedTime(probe, FileTime.fromMillis(0));
                return UnixAttributes.read(probe, 0).birthNanos() != 0;
            } finally {
                Files.delete(probe);
            }
        }
        Set<FileTime> times = new HashSet<>();
        times.add(
                (FileTime)
                        Files.getAttribute(root.path(), "creationTime", LinkOption.NOFOLLOW_LINKS));
        times.add(Files.getLastModifiedTime(root.path(), LinkOption.NOFOLLOW_LINKS));
        return times.size() == 2;
    }
}
