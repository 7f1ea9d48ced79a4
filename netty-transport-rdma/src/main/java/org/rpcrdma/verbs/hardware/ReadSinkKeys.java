// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Keys by which a device places the data of RDMA Reads in local memory. A range has a number, that of its place in
 * the send queue.
 */
interface ReadSinkKeys {

    /** InfiniBand and RoCE: the right to write locally is all that it takes. */
    ReadSinkKeys LOCAL =
            new ReadSinkKeys() {
                @Override
                public int open(int range, long address, int length, int localKey) {
                    return localKey;
                }

                @Override
                public void close(int range) {}
            };

    /**
     * The key for a range that is read into.
     *
     * @param localKey of the registration that the range is in
     */
    int open(int range, long address, int length, int localKey);

    /** The Read has ended. No effect on a range that was not opened. */
    void close(int range);
}
