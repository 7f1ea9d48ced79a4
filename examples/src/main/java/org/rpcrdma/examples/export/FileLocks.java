// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * One change of a file or directory at a time, so that the attributes before and after it belong to it alone: a client
 * trusts them to tell its own changes from those of others (weak cache consistency, RFC 1813, 2.6).
 */
public final class FileLocks {

    private static final int STRIPES = 256;

    /** What is done with a lock held. */
    public interface Work<T> {
        T run() throws IOException;
    }

    private final Lock[] stripes = new Lock[STRIPES];
    private final ReadWriteLock names = new ReentrantReadWriteLock();

    public FileLocks() {
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new ReentrantLock();
        }
    }

    public <T> T holding(FileKey file, Work<T> work) throws IOException {
        return holding(stripes[stripe(file)], work);
    }

    /** With both locks, taken in an order that cannot deadlock. */
    public <T> T holding(FileKey one, FileKey other, Work<T> work) throws IOException {
        Lock first = stripes[Math.min(stripe(one), stripe(other))];
        Lock second = stripes[Math.max(stripe(one), stripe(other))];
        first.lock();
        try {
            second.lock();
            try {
                return work.run();
            } finally {
                second.unlock();
            }
        } finally {
            first.unlock();
        }
    }

    /**
     * With the names of all files as they are: what is opened by its name is the file that was looked at before. Taken
     * behind the other locks, and for a moment only.
     */
    public <T> T withNamesKept(Work<T> work) throws IOException {
        return holding(names.readLock(), work);
    }

    /** With nobody else using or changing a name. Taken behind the other locks. */
    public <T> T changingNames(Work<T> work) throws IOException {
        return holding(names.writeLock(), work);
    }

    private static <T> T holding(Lock lock, Work<T> work) throws IOException {
        lock.lock();
        try {
            return work.run();
        } finally {
            lock.unlock();
        }
    }

    private static int stripe(FileKey file) {
        return Math.floorMod(file.hashCode(), STRIPES);
    }
}
