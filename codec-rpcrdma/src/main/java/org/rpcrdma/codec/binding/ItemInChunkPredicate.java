// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

/** Says which DDP-eligible items of a payload stream are not in the stream but in chunks (RFC 8166, 3.4.2). */
@FunctionalInterface
public interface ItemInChunkPredicate {

    /** Nothing is reduced: the stream is whole. */
    ItemInChunkPredicate NONE = (position, ordinal, length) -> false;

    /**
     * Asked once for each eligible item, in stream order.
     *
     * @param position of the item's first byte in the unreduced stream
     * @param ordinal the number of the eligible item, from 0
     * @param length its count word: bytes from 0, without round-up
     * @return whether the item is in a chunk, and not in the stream
     */
    boolean isReduced(long position, int ordinal, int length);
}
