// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

/** Text that others have chosen as a terminal or a log can have it: nothing in it steers, reorders or breaks a line. */
public final class Printable {

    /** Controls (of C1 too), formats such as those for writing directions, what is nobody's, and line separators. */
    private static final String STEERING = "[\\p{C}\\p{Zl}\\p{Zp}]";

    private Printable() {}

    public static String of(Object text) {
        return String.valueOf(text).replaceAll(STEERING, "?");
    }
}
