// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.time.Duration;

/** Checks of the values that settings are given. */
final class SettingChecks {

    private SettingChecks() {}

    static int range(String name, int value, int minimum, int maximum) {
        if (value < minimum || value > maximum) {
            throw new IllegalArgumentException(
                    name + " is " + value + ", expected " + minimum + " to " + maximum);
        }
        return value;
    }

    static Duration positive(String name, Duration value) {
        if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(1)) > 0) {
            throw new IllegalArgumentException(
                    name + " is " + value + ", expected more than 0 and at most a day");
        }
        return value;
    }

    static void requirePowerOfTwo(String name, int value) {
        if (Integer.bitCount(value) != 1) {
            throw new IllegalArgumentException(name + " is " + value + ", expected a power of two");
        }
    }
}
