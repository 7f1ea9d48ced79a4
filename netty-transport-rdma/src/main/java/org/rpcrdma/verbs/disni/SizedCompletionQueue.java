// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import java.io.IOException;

/**
 * A completion queue and the number of its entries, which DiSNI does not tell.
 *
 * @param queue the queue
 * @param entries how many completions it can hold
 */
record SizedCompletionQueue(IbvCQ queue, int entries) {

    private static final int LEAST = 64;

    /** Makes one with as many entries as the device allows, found by halving, but not more than wanted. */
    static SizedCompletionQueue create(IbvContext device, IbvCompChannel channel, int wanted)
            throws IOException {
        for (int entries = wanted; ; entries /= 2) {
            try {
                return new SizedCompletionQueue(device.createCQ(channel, entries, 0), entries);
            } catch (IOException e) {
                if (entries / 2 < LEAST) {
                    throw e;
                }
            }
        }
    }
}
