// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.util.LinkedHashMap;
import java.util.Map;

/** The directories used last, held open. Thread-safe. */
final class DirectoryCache implements AutoCloseable {

    private final int capacity;
    private final LinkedHashMap<FileKey, OpenDirectory> directories =
            new LinkedHashMap<>(16, 0.75f, true);
    private boolean closed;

    DirectoryCache(int capacity) {
        this.capacity = capacity;
    }

    /** @return with a reference for the caller; {@code null} if not held */
    synchronized OpenDirectory get(FileKey key) {
        OpenDirectory directory = directories.get(key);
        return directory == null ? null : directory.retain();
    }

    /** @param directory the caller keeps its reference */
    synchronized void put(FileKey key, OpenDirectory directory) {
        if (closed) {
            return;
        }
        OpenDirectory previous = directories.put(key, directory.retain());
        if (previous != null) {
            previous.release();
        }
        if (directories.size() > capacity) {
            Map.Entry<FileKey, OpenDirectory> eldest = directories.entrySet().iterator().next();
            directories.remove(eldest.getKey());
            eldest.getValue().release();
        }
    }

    synchronized void remove(FileKey key) {
        OpenDirectory directory = directories.remove(key);
        if (directory != null) {
            directory.release();
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        directories.values().forEach(OpenDirectory::release);
        directories.clear();
    }
}
