// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Where the files that clients know were last seen: a hint, checked at every use, because others change the directory
 * too. Bounded: the files that were not used for longest go first. Thread-safe.
 */
final class FileIndex {

    /** Of a file with more names the oldest ones are forgotten; a directory has one. */
    private static final int NAMES_MAX = 8;

    /** One name of a file. */
    record Link(FileKey directory, String name) {}

    private final LinkedHashMap<FileKey, List<Link>> links;

    FileIndex(long filesMax) {
        links =
                new LinkedHashMap<>(16, 0.75f, true) {
                    @Override
                    protected boolean removeEldestEntry(Map.Entry<FileKey, List<Link>> eldest) {
                        return size() > filesMax;
                    }
                };
    }

    synchronized void add(FileKey file, boolean isDirectory, FileKey directory, String name) {
        Link link = new Link(directory, name);
        List<Link> known = isDirectory ? List.of() : links(file);
        if (known.isEmpty()) {
            links.put(file, List.of(link));
        } else if (!known.contains(link)) {
            List<Link> more = new ArrayList<>(known);
            if (more.size() == NAMES_MAX) {
                more.remove(0);
            }
            more.add(link);
            links.put(file, List.copyOf(more));
        }
    }

    synchronized void remove(FileKey file, Link link) {
        List<Link> fewer = new ArrayList<>(links(file));
        if (fewer.remove(link)) {
            if (fewer.isEmpty()) {
                links.remove(file);
            } else {
                links.put(file, List.copyOf(fewer));
            }
        }
    }

    /** The known names, the oldest first; empty if there is none. */
    synchronized List<Link> links(FileKey file) {
        return links.getOrDefault(file, List.of());
    }

    synchronized int size() {
        return links.size();
    }
}
