// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * Where the files that clients know were last seen: a hint, checked at every use, because others change the directory
 * too. Bounded: it counts names, and the files that were not used for longest go first. Thread-safe.
 */
final class FileIndex {

    /** Of a file with more names the oldest ones are forgotten; a directory has one. */
    private static final int NAMES_MAX = 8;

    /** One name of a file. */
    record Link(FileKey directory, String name) {}

    private final LinkedHashMap<FileKey, List<Link>> links = new LinkedHashMap<>(16, 0.75f, true);
    private final long namesMax;
    private long names;

    FileIndex(long namesMax) {
        this.namesMax = namesMax;
    }

    synchronized void add(FileKey file, boolean isDirectory, FileKey directory, String name) {
        Link link = new Link(directory, name);
        List<Link> known = isDirectory ? List.of() : links(file);
        if (known.isEmpty()) {
            put(file, List.of(link));
        } else if (!known.contains(link)) {
            List<Link> more = new ArrayList<>(known);
            if (more.size() == NAMES_MAX) {
                more.remove(0);
            }
            more.add(link);
            put(file, List.copyOf(more));
        }
    }

    private void put(FileKey file, List<Link> known) {
        List<Link> before = links.put(file, known);
        names += known.size() - (before == null ? 0 : before.size());
        Iterator<List<Link>> eldest = links.values().iterator();
        while (names > namesMax) {
            names -= eldest.next().size();
            eldest.remove();
        }
    }

    synchronized void remove(FileKey file, Link link) {
        List<Link> fewer = new ArrayList<>(links(file));
        if (fewer.remove(link)) {
            if (fewer.isEmpty()) {
                links.remove(file);
                names--;
            } else {
                put(file, List.copyOf(fewer));
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
