// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.util.concurrent.atomic.AtomicLong;

/** Bytes of direct memory that may be allocated before the JVM is asked what is left. Thread-safe. */
final class UncheckedAllowance {

    private final AtomicLong left;

    UncheckedAllowance(long bytes) {
        left = new AtomicLong(bytes);
    }

    /** Takes bytes of the allowance, or ends it if it has less. */
    boolean tryTake(int bytes) {
        return left.get() > 0 && left.addAndGet(-bytes) >= 0;
    }

    void end() {
        left.set(0);
    }
}
