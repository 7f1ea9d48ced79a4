// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static io.netty.util.internal.ObjectUtil.checkNotNull;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import java.util.function.ToIntFunction;

/** {@link CreditPolicy#adaptive}. The only state is the newest grant, which the connection keeps. */
final class AdaptiveCreditPolicy implements CreditPolicy {

    private final ToIntFunction<ResponderConnectionLoad> queued;
    private final int limit;

    AdaptiveCreditPolicy(ToIntFunction<ResponderConnectionLoad> queued, int limit) {
        this.queued = checkNotNull(queued, "queued");
        this.limit = checkPositive(limit, "limit");
    }

    @Override
    public int credits(ResponderConnectionLoad load) {
        if (!load.isReading()
                || isShort(load.pulledBytes(), load.maximumPulledBytes())
                || isShort(load.registeredBytesInUse(), load.maximumRegisteredBytes())) {
            return load.minimumCredits();
        }
        int waiting = queued.applyAsInt(load);
        int granted = load.granted();
        if (waiting > limit) {
            return granted - Math.max(1, granted >> 2);
        }
        return waiting <= limit >> 1 ? granted + Math.max(1, granted >> 3) : granted;
    }

    /** Whether less than an eighth of the maximum is left. */
    private static boolean isShort(long inUse, long maximum) {
        return inUse > maximum - (maximum >> 3);
    }
}
