// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** A part of a {@link Slab}, lent or free. The blocks of a slab stand side by side without gaps. */
final class Block {
    Slab slab;

    /** In bytes, from the beginning of the slab. */
    int offset;

    /** In bytes. */
    int size;

    boolean isFree;

    /** The neighbours in the slab. */
    Block left;

    Block right;

    /** The neighbours in the list of {@link FreeBlocks}. */
    Block previous;

    Block next;
}
