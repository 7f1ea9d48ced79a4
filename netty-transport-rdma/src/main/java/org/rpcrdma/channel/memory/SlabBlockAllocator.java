// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Splits slabs into blocks and coalesces free ones. Invariant: no two free blocks are adjacent.
 */
final class SlabBlockAllocator {

    /** The most block objects in the free list. */
    private static final int MOST_SHELLS = 1024;

    private final FreeBlockLists free = new FreeBlockLists();
    private final ArrayDeque<SlabBlock> shells = new ArrayDeque<>();

    /** The block that covers a new slab, in use. */
    SlabBlock whole(Slab slab) {
        slab.first = newBlock(slab, 0, slab.size);
        return slab.first;
    }

    /**
     * Takes a free block of at least that size.
     *
     * @param size as {@link FreeBlockLists#size} has it
     * @return {@code null} when there is none
     */
    SlabBlock take(int size) {
        return free.poll(size);
    }

    /**
     * Splits a block to that size; the rest becomes free.
     *
     * @param size as {@link FreeBlockLists#size} has it, less than the block has
     */
    void cut(SlabBlock block, int size) {
        SlabBlock rest = newBlock(block.slab, block.offset + size, block.size - size);
        block.size = size;
        rest.left = block;
        rest.right = block.right;
        if (rest.right != null) {
            rest.right.left = rest;
        }
        block.right = rest;
        joinRight(rest);
        free.add(rest);
    }

    /** Frees a block and coalesces it with its free neighbours. */
    void free(SlabBlock block) {
        joinRight(block);
        SlabBlock left = block.left;
        if (left == null || !left.isFree) {
            free.add(block);
            return;
        }
        free.remove(left);
        swallowRight(left);
        free.add(left);
    }

    /** Removes a completely free slab. */
    void forget(Slab slab) {
        free.remove(slab.first);
        drop(slab.first);
        slab.first = null;
    }

    /** Passes each completely free slab to a consumer, which removes it. */
    void eachWhole(int size, Consumer<Slab> taker) {
        List<SlabBlock> found = new ArrayList<>();
        for (SlabBlock block = free.poll(size); block != null; block = free.poll(size)) {
            found.add(block);
        }
        found.forEach(free::add);
        for (SlabBlock block : found) {
            if (block.left == null && block.right == null) {
                taker.accept(block.slab);
            }
        }
    }

    private void drop(SlabBlock block) {
        block.slab = null;
        block.left = null;
        block.right = null;
        if (shells.size() < MOST_SHELLS) {
            shells.addLast(block);
        }
    }

    private SlabBlock newBlock(Slab slab, int offset, int size) {
        SlabBlock block = shells.pollLast();
        if (block == null) {
            block = new SlabBlock();
        }
        block.slab = slab;
        block.offset = offset;
        block.size = size;
        return block;
    }

    private void joinRight(SlabBlock block) {
        if (block.right != null && block.right.isFree) {
            free.remove(block.right);
            swallowRight(block);
        }
    }

    private void swallowRight(SlabBlock block) {
        SlabBlock other = block.right;
        block.size += other.size;
        block.right = other.right;
        if (block.right != null) {
            block.right.left = block;
        }
        drop(other);
    }
}
