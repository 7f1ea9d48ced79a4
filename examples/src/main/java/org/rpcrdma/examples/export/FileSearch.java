// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.examples.nfs.Nfs3Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks for files that the index does not have (the server is new, or others have moved files), on one thread: a walk
 * can be long, and clients decide when a handle is missed. Until the walk has ended they are asked to come again
 * (NFS3ERR_JUKEBOX, RFC 1813, 2.6). A walk is followed by a rest as long as itself. Thread-safe.
 */
final class FileSearch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(FileSearch.class);
    private static final int WANTED_MAX = 1024;
    private static final int ABSENT_MAX = 16 * WANTED_MAX;

    /** Goes through the whole export and takes what it has found out of the set. */
    interface Walk {
        void run(Set<FileKey> sought);
    }

    private final ScheduledExecutorService thread =
            Executors.newSingleThreadScheduledExecutor(
                    new DefaultThreadFactory("file-search", true));

    private final Walk walk;
    private Set<FileKey> wanted = new HashSet<>();
    private Set<FileKey> sought = Set.of();

    /** What walks have not found; each is told once, and looked for again when it is asked for again. */
    private final Set<FileKey> absent = new LinkedHashSet<>();

    private boolean isUnderWay;

    FileSearch(Walk walk) {
        this.walk = walk;
    }

    /**
     * Says why there is no such file now, and has it looked for if that has not been done.
     *
     * @return NFS3ERR_STALE after a walk that has not found it, NFS3ERR_JUKEBOX before
     */
    synchronized NfsException miss(FileKey file) {
        if (absent.remove(file)) {
            return new NfsException(Nfs3Status.NFS3ERR_STALE, "the file is not in the export");
        }
        if (!sought.contains(file) && wanted.size() < WANTED_MAX) {
            wanted.add(file);
        }
        if (!isUnderWay) {
            start(0);
        }
        return new NfsException(Nfs3Status.NFS3ERR_JUKEBOX, "the file is being looked for");
    }

    private void start(long delayNanos) {
        try {
            thread.schedule(this::search, delayNanos, TimeUnit.NANOSECONDS);
            isUnderWay = true;
        } catch (RejectedExecutionException e) {
            LOG.debug("The export is closed", e);
        }
    }

    private void search() {
        Set<FileKey> left;
        synchronized (this) {
            isUnderWay = !wanted.isEmpty();
            if (!isUnderWay) {
                return;
            }
            sought = Set.copyOf(wanted);
            left = new HashSet<>(wanted);
            wanted = new HashSet<>();
        }
        long begin = System.nanoTime();
        try {
            walk.run(left);
        } catch (RuntimeException | Error e) {
            LOG.warn("A search for files failed: {}", e.toString());
            left = new HashSet<>(); // whoever asks again has it started again
        }
        synchronized (this) {
            absent.addAll(left);
            // Clients may never come for the answer; the oldest ones go first.
            Iterator<FileKey> eldest = absent.iterator();
            while (absent.size() > ABSENT_MAX) {
                eldest.next();
                eldest.remove();
            }
            sought = Set.of();
            start(System.nanoTime() - begin);
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
