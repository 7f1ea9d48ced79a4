// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.export;

import java.io.IOException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

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

    public FileLocks() {
        for (int i = 0; i < STRIPES; i++) {
            stripes[i] = new ReentrantLock();
        }
    }

    public <T> T holding(FileKey file, Work<T> work) throws IOException {
        Lock lock = stripes[stripe(file)];
        lock.lock();
        try {
            return work.run();
        } finally {
            lock.unlock();
        }
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

    private static int stripe(FileKey file) {
        return Math.floorMod(file.hashCode(), STRIPES);
    }
}
