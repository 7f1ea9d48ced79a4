// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.XdrCursor;

/**
 * Validates that the items which a user has taken out of a message are those of its upper-layer binding (RFC 8166,
 * 6.1).
 */
final class OutboundDdpEligibilityValidator {

    private OutboundDdpEligibilityValidator() {}

    /** Each position has to be inside the message. */
    static void positions(RpcMessage message) {
        String problem = message.problem();
        if (problem != null) {
            throw new IllegalArgumentException(problem);
        }
    }

    /**
     * Each item has to be one that the binding knows, with the length that its count word says.
     *
     * @param found what the binding has walked
     */
    static void items(RpcMessage message, XdrCursor found) throws EligibilityException {
        for (int item = 0; item < message.items(); item++) {
            int ordinal = find(found, message.itemPosition(item));
            if (ordinal < 0) {
                throw new EligibilityException(
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

    /** The binding has to see all of the payload. */
    static void complete(boolean isComplete) {
        if (!isComplete) {
            throw new IllegalArgumentException(
                    "the payload ends too early (expected: all of the message but the items)");
        }
    }

    /** The number of the item at a position; negative when there is none. */
    static int find(XdrCursor in, long position) {
        for (int i = 0; i < in.items(); i++) {
            if (in.itemPosition(i) == position) {
                return i;
            }
        }
        return -1;
    }
}
