// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import java.io.PrintStream;

/**
 * Prints what was found, in the form that {@code examples/interop/run} counts: {@code ok WHAT} or
 * {@code FAIL WHAT: WHY}.
 */
final class Report {

    /** One check: it returns, or throws what is wrong. */
    @FunctionalInterface
    interface Body {
        void run() throws Exception;
    }

    private final PrintStream out;
    private int failed;

    Report(PrintStream out) {
        this.out = out;
    }

    void check(String what, Body body) {
        try {
            body.run();
            out.println("ok " + what);
        } catch (Exception | AssertionError e) {
            failed++;
            out.println("FAIL " + what + ": " + e.toString().replace('\n', '|'));
        }
    }

    /** The number of checks that have failed. */
    int failed() {
        return failed;
    }

    static void same(String what, Object expected, Object actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError(what + ": " + actual + " (expected: " + expected + ")");
        }
    }

    static void holds(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }
}
