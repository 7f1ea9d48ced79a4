// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/**
 * The TCP connections that were busy lately. While there are only a few, polling reads them directly, which costs half
 * of asking the selector first; the selector is still asked now and then for all others.
 */
final class HotStreams {

    private static final int MAX = 4;
    private static final int POLLS_PER_SELECT = 4;
    private static final int COLD_AFTER = 256;

    private final TcpCarrier[] streams = new TcpCarrier[MAX];
    private final int[] idle = new int[MAX];
    private int count;
    private int polls;

    boolean isEmpty() {
        return count == 0;
    }

    void add(TcpCarrier stream) {
        for (int i = 0; i < count; i++) {
            if (streams[i] == stream) {
                return;
            }
        }
        if (count < MAX) {
            idle[count] = 0;
            streams[count++] = stream;
        }
    }

    void remove(TcpCarrier stream) {
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
        if (count == 0 || ++polls >= POLLS_PER_SELECT) {
            polls = 0;
            return false;
        }
        for (int i = count - 1; i >= 0; i--) {
            TcpCarrier stream = streams[i];
            if (stream.poll()) {
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
