// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.rpcrdma.examples.nfs.Nfs3Status;

/**
 * Directory entries in an order that does not depend on what is added or removed while a client reads on: each entry's
 * cookie is a digest of its name, and entries are sorted by cookie. A cookie stays good for ever, also after a restart,
 * so the cookie verifier (RFC 1813, 3.3.16) has nothing to say and is always 0. Thread-safe.
 */
public final class DirectoryReader {

    /** The cookie of {@code .}; that of {@code ..} is the next. */
    public static final long COOKIE_SELF = 1;

    public static final long COOKIE_PARENT = 2;
    private static final long COOKIE_FIRST = 3;

    /** Of the heap, for each entry of all listings; names of the longest kind take less. */
    private static final int BYTES_PER_ENTRY = 2048;

    /** @param cookie positive */
    public record Entry(String name, long cookie) {}

    private record Listing(Instant modified, List<Entry> entries) {}

    private final LinkedHashMap<FileKey, Listing> listings = new LinkedHashMap<>(16, 0.75f, true);
    private final int entriesMax;

    /** How many entries there may be more, in listings that are kept or being read. */
    private final Semaphore room;

    public DirectoryReader() {
        this((int) Math.min(Runtime.getRuntime().maxMemory() / BYTES_PER_ENTRY, 1 << 24));
    }

    DirectoryReader(int entriesMax) {
        this.entriesMax = entriesMax;
        room = new Semaphore(entriesMax);
    }

    /**
     * The entries after a cookie, without {@code .} and {@code ..}.
     *
     * @param cookie 0 or the cookie of the last entry that the client has
     * @throws NfsException NFS3ERR_SERVERFAULT if the directory is too large, NFS3ERR_JUKEBOX if others are being read
     */
    public List<Entry> entriesAfter(Located directory, long cookie) throws IOException {
        Listing listing = null;
        if (cookie != 0) {
            synchronized (listings) {
                listing = listings.get(directory.key());
            }
        }
        Instant modified = directory.currentAttributes().modified();
        if (listing == null || !listing.modified().equals(modified)) {
            listing = new Listing(modified, read(directory.path()));
            synchronized (listings) {
                forget(listings.put(directory.key(), listing));
            }
        }
        List<Entry> entries = listing.entries();
        return entries.subList(firstAfter(entries, cookie), entries.size());
    }

    private static int firstAfter(List<Entry> entries, long cookie) {
        int low = 0;
        int high = entries.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (entries.get(middle).cookie() > cookie) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private void forget(Listing listing) {
        room.release(listing == null ? 0 : 1 + listing.entries().size());
    }

    /** For one entry more, if need be in the place of the listing that was not used for longest. */
    private void takeRoom(int had) throws NfsException {
        while (!room.tryAcquire()) {
            synchronized (listings) {
                Iterator<Listing> eldest = listings.values().iterator();
                if (!eldest.hasNext()) {
                    boolean isTooLarge = had == entriesMax - 1;
                    throw new NfsException(
                            isTooLarge
                                    ? Nfs3Status.NFS3ERR_SERVERFAULT
                                    : Nfs3Status.NFS3ERR_JUKEBOX,
                            "a directory of more than " + had + " entries; -Xmx bounds them");
                }
                forget(eldest.next());
                eldest.remove();
            }
        }
    }

    private List<Entry> read(Path directory) throws IOException {
        List<Entry> unordered = new ArrayList<>();
        boolean isComplete = false;
        takeRoom(0); // for the listing itself
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(directory)) {
            for (Path path : paths) {
                takeRoom(unordered.size());
                String name = path.getFileName().toString();
                unordered.add(new Entry(name, digest(name)));
            }
            isComplete = true;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        } finally {
            room.release(isComplete ? 0 : 1 + unordered.size());
        }
        Entry[] sorted = unordered.toArray(new Entry[0]);
        Arrays.sort(
                sorted,
                (a, b) ->
                        a.cookie() != b.cookie()
                                ? Long.compare(a.cookie(), b.cookie())
                                : a.name().compareTo(b.name()));
        long last = 0;
        for (int i = 0; i < sorted.length; i++) {
            if (sorted[i].cookie() <= last) {
                sorted[i] = new Entry(sorted[i].name(), last + 1);
            }
            last = sorted[i].cookie();
        }
        return List.of(sorted);
    }

    /** 62 bits: some clients take a cookie for a signed number. */
    private static long digest(String name) {
        long hash = 0xcbf29ce484222325L;
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ b) * 0x100000001b3L;
        }
        hash = (hash ^ hash >>> 32) * 0x9e3779b97f4a7c15L;
        return Math.max(COOKIE_FIRST, (hash ^ hash >>> 29) >>> 2);
    }
}
