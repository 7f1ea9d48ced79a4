// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

/** A part of a {@link Slab}, in use or free. The blocks of a slab are contiguous. */
final class SlabBlock {
    Slab slab;

    /** In bytes, from the beginning of the slab. */
    int offset;

    /** In bytes. */
    int size;

    boolean isFree;

    /** The neighbours in the slab. */
    SlabBlock left;

    SlabBlock right;

    /** The neighbours in the list of {@link FreeBlockLists}. */
    SlabBlock previous;

    SlabBlock next;
}
