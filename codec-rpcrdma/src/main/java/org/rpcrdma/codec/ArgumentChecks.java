// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** One sentence for a setting out of its range. */
final class ArgumentChecks {

    private ArgumentChecks() {}

    static int inRange(String name, int value, int low, int high) {
        return (int) inRange(name, (long) value, low, high);
    }

    static long inRange(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: " + low + " to " + high + ')');
        }
        return value;
    }
}
