// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.time.Duration;

/** Range checks of settings, with one-sentence messages. */
public final class ArgumentChecks {

    private ArgumentChecks() {}

    /** A time in whole milliseconds, 1 to {@code Integer.MAX_VALUE}. */
    public static int millis(String name, Duration value) {
        Duration longest = Duration.ofMillis(Integer.MAX_VALUE);
        if (value.compareTo(Duration.ofMillis(1)) < 0 || value.compareTo(longest) > 0) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: 1 ms to " + longest.toMillis() + " ms)");
        }
        return (int) value.toMillis();
    }

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
