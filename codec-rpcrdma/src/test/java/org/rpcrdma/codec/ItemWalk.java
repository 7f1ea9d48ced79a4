// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.XdrCursor;

/** What must hold for the walk of a binding over arguments or results, whatever they are. */
final class ItemWalk {

    /** The walk of a binding. */
    @FunctionalInterface
    interface Walk {
        void over(XdrCursor in) throws MalformedMessageException;
    }

    /** An eligible item as a walk has noted it. */
    record Item(long position, int index, int length, boolean reduced) {}

    /**
     * What a walk has found.
     *
     * @param complete whether it ended without complaint
     * @param left the bytes of the message after it
     */
    record Found(boolean complete, int left, List<Item> items) {}

    private final XdrCursor cursor = new XdrCursor();

    /** Walks, and checks what was noted. */
    Found walk(byte[] message, int index, ItemInChunkPredicate reduction, Walk walk) {
        // A read past the end of this buffer throws what nobody catches.
        ByteBuf in = Unpooled.wrappedBuffer(message);
        cursor.wrap(in, 0, index, message.length, reduction);
        boolean complete = true;
        try {
            walk.over(cursor);
        } catch (MalformedMessageException e) {
            assertThat(e).isSameAs(MalformedMessageException.INSTANCE);
            complete = false;
        }
        List<Item> items = new ArrayList<>();
        for (int i = 0; i < cursor.items(); i++) {
            items.add(
                    new Item(
                            cursor.itemPosition(i),
                            cursor.itemIndex(i),
                            cursor.itemLength(i),
                            cursor.isItemReduced(i)));
        }
        assertThat(cursor.remaining()).isBetween(0, message.length - index);
        Found found = new Found(complete, cursor.remaining(), items);
        cursor.release();
        long position = index;
        int at = index;
        for (int i = 0; i < items.size(); i++) {
            Item item = items.get(i);
            assertThat(item.length).isNotNegative();
            assertThat(item.position).isGreaterThanOrEqualTo(position + 4);
            assertThat(item.index).isBetween(at + 4, message.length);
            position = item.position + XdrCursor.roundUp(item.length);
            at = item.index + (item.reduced ? 0 : XdrCursor.roundUp(item.length));
            // The last one of a walk that complained may have been the reason.
            if (complete || i < items.size() - 1) {
                assertThat(at).isLessThanOrEqualTo(message.length);
            }
        }
        return found;
    }

    /**
     * Checks that a walk finds the same items when some of them have left the stream, and no others when the message is
     * cut short.
     */
    Found check(byte[] message, int index, Walk walk) {
        Found whole = walk(message, index, ItemInChunkPredicate.NONE, walk);
        assertThat(walk(message, index, ItemInChunkPredicate.NONE, walk)).isEqualTo(whole);
        Random random = new Random(Arrays.hashCode(message));
        int cut = index + random.nextInt(message.length - index + 1);
        Found part = walk(Arrays.copyOf(message, cut), index, ItemInChunkPredicate.NONE, walk);
        assertThat(part.items).hasSizeLessThanOrEqualTo(whole.items.size());
        assertThat(part.items).isEqualTo(whole.items.subList(0, part.items.size()));
        if (whole.complete && !whole.items.isEmpty()) {
            boolean[] leaves = new boolean[whole.items.size()];
            for (int i = 0; i < leaves.length; i++) {
                leaves[i] = random.nextBoolean();
            }
            checkReduced(message, index, walk, whole, leaves);
            Arrays.fill(leaves, true);
            checkReduced(message, index, walk, whole, leaves);
        }
        return whole;
    }

    private void checkReduced(byte[] message, int index, Walk walk, Found whole, boolean[] leaves) {
        ItemInChunkPredicate reduction = (position, ordinal, length) -> leaves[ordinal];
        byte[] rest = without(message, whole, leaves);
        Found filled = walk(Arrays.copyOf(rest, message.length), index, reduction, walk);
        assertThat(filled.complete).isTrue();
        assertThat(filled.left - whole.left).isEqualTo(message.length - rest.length);
        checkSame(filled, whole, leaves);
        Found reduced = walk(rest, index, reduction, walk);
        // If not, an array says that it has more elements than can be there.
        if (reduced.complete) {
            assertThat(reduced.left).isEqualTo(whole.left);
            checkSame(reduced, whole, leaves);
        }
    }

    private static void checkSame(Found reduced, Found whole, boolean[] leaves) {
        assertThat(reduced.items).hasSameSizeAs(whole.items);
        for (int i = 0; i < leaves.length; i++) {
            assertThat(reduced.items.get(i).position).isEqualTo(whole.items.get(i).position);
            assertThat(reduced.items.get(i).length).isEqualTo(whole.items.get(i).length);
            assertThat(reduced.items.get(i).reduced).isEqualTo(leaves[i]);
        }
    }

    /** The reduced stream (RFC 8166, 3.4.2): items leave with their round-up. */
    static byte[] without(byte[] message, Found whole, boolean[] leaves) {
        ByteBuf rest = Unpooled.buffer(message.length);
        int from = 0;
        for (int i = 0; i < leaves.length; i++) {
            Item item = whole.items.get(i);
            if (leaves[i]) {
                rest.writeBytes(message, from, item.index - from);
                from = item.index + XdrCursor.roundUp(item.length);
            }
        }
        rest.writeBytes(message, from, message.length - from);
        return Rpc.bytes(rest);
    }
}
