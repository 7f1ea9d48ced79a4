// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

/** One sentence for a setting out of its range. */
public final class ArgumentChecks {

    private ArgumentChecks() {}

    public static int inRange(String name, int value, int low, int high) {
        return (int) inRange(name, (long) value, low, high);
    }

    public static long inRange(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: " + low + " to " + high + ')');
        }
        return value;
    }
}
