// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.Arrays;

/**
 * The TCP connections that were busy lately. While there are only a few, polling reads them directly, which costs half
 * of asking the selector first; the selector is still asked now and then for all others. Where more are busy, those
 * that are read here would be preferred, and most reads be in vain: all are left to the selector for a while.
 */
final class BusyTcpPollSet {

    /** What polling reads. */
    interface Stream {
        /** Reads without asking the selector; returns whether something came. */
        boolean poll();

        /** Reading has failed; ends the connection. */
        void failed(Exception cause);
    }

    static final int MAX = 4;
    static final int POLLS_PER_SELECT = 4;
    static final int COLD_AFTER = 256;
    static final int CROWDED_POLLS = 1024;

    private final Stream[] streams = new Stream[MAX];
    private final int[] idle = new int[MAX];
    private int count;
    private int polls;

    /** So many more polls are left to the selector. */
    private int crowded;

    boolean isEmpty() {
        return count == 0;
    }

    void add(Stream stream) {
        if (crowded > 0) {
            return;
        }
        for (int i = 0; i < count; i++) {
            if (streams[i] == stream) {
                return;
            }
        }
        if (count < MAX) {
            idle[count] = 0;
            streams[count++] = stream;
        } else {
            Arrays.fill(streams, null);
            count = 0;
            crowded = CROWDED_POLLS;
        }
    }

    void remove(Stream stream) {
        for (int i = 0; i < count; i++) {
            if (streams[i] == stream) {
                count--;
                streams[i] = streams[count];
                idle[i] = idle[count];
                streams[count] = null;
                return;
            }
        }
    }

    /** Reads all hot streams; returns whether the selector need not be asked this time. */
    boolean poll() {
        if (crowded > 0) {
            crowded--;
            return false;
        }
        if (count == 0 || ++polls >= POLLS_PER_SELECT) {
            polls = 0;
            return false;
        }
        for (int i = count - 1; i >= 0; i--) {
            Stream stream = streams[i];
            boolean isRead = true;
            try {
                isRead = stream.poll();
            } catch (RuntimeException e) {
                // What one throws is its own end, and the others are still read.
                stream.failed(e);
            } catch (Error e) {
                stream.failed(Sockets.ended(e));
            }
            if (isRead) {
                if (i < count && streams[i] == stream) {
                    idle[i] = 0;
                }
            } else if (i < count && streams[i] == stream && ++idle[i] > COLD_AFTER) {
                remove(stream);
            }
        }
        return true;
    }
}
