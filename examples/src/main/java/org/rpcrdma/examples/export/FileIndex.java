// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Where each file that a client knows was last seen: a hint, checked at every use, because others change the directory
 * too. Thread-safe.
 */
final class FileIndex {

    /** One name of a file. */
    record Link(FileKey directory, String name) {}

    private final ConcurrentHashMap<FileKey, List<Link>> links = new ConcurrentHashMap<>();

    void add(FileKey file, FileKey directory, String name) {
        Link link = new Link(directory, name);
        links.compute(
                file,
                (key, known) -> {
                    if (known == null) {
                        return List.of(link);
                    }
                    if (known.contains(link)) {
                        return known;
                    }
                    List<Link> more = new ArrayList<>(known);
                    more.add(link);
                    return List.copyOf(more);
                });
    }

    void remove(FileKey file, FileKey directory, String name) {
        Link link = new Link(directory, name);
        links.computeIfPresent(
                file,
                (key, known) -> {
                    List<Link> fewer = new ArrayList<>(known);
                    fewer.remove(link);
                    return fewer.isEmpty() ? null : List.copyOf(fewer);
                });
    }

    /** The known names, the oldest first; empty if there is none. */
    List<Link> links(FileKey file) {
        return links.getOrDefault(file, List.of());
    }
}
