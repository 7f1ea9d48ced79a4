// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.XdrCursor;

/**
 * Validates that the items the user keeps apart from a payload are DDP-eligible by the upper-layer binding (RFC 8166,
 * 6.1).
 */
final class OutboundDdpEligibilityValidator {

    private OutboundDdpEligibilityValidator() {}

    /** Requires each position to be inside the message. */
    static void positions(RpcMessage message) {
        String problem = message.problem();
        if (problem != null) {
            throw new IllegalArgumentException(problem);
        }
    }

    /**
     * Requires each item to be DDP-eligible, with the length of its count word.
     *
     * @param found items found by the binding
     */
    static void items(RpcMessage message, XdrCursor found) throws DdpEligibilityException {
        for (int item = 0; item < message.items(); item++) {
            int ordinal = find(found, message.itemPosition(item));
            if (ordinal < 0) {
                throw new DdpEligibilityException(
                        "the item at position "
                                + message.itemPosition(item)
                                + " is not DDP-eligible (expected: one that the upper-layer"
                                + " binding names)");
            }
            int length = message.item(item).readableBytes();
            if (found.itemLength(ordinal) != length) {
                throw new IllegalArgumentException(
                        "the item at position "
                                + message.itemPosition(item)
                                + " has "
                                + length
                                + " bytes (expected: the "
                                + found.itemLength(ordinal)
                                + " of its count word)");
            }
        }
    }

    /** Requires that the binding has parsed the whole payload. */
    static void complete(boolean isComplete) {
        if (!isComplete) {
            throw new IllegalArgumentException(
                    "the payload ends too early (expected: all of the message but the items)");
        }
    }

    /** Number of the item at a position; negative if none. */
    static int find(XdrCursor in, long position) {
        for (int i = 0; i < in.items(); i++) {
            if (in.itemPosition(i) == position) {
                return i;
            }
        }
        return -1;
    }
}
