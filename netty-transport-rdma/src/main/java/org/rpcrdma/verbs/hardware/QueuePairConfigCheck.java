// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import org.rpcrdma.verbs.QueuePairConfig;

/** The ranges of {@link QueuePairConfig}. */
final class QueuePairConfigCheck {

    private QueuePairConfigCheck() {}

    static void check(QueuePairConfig size, int maxReadDepth) {
        depth("sendDepth", size.sendDepth(), 1 << 20);
        depth("receiveDepth", size.receiveDepth(), 1 << 20);
        depth("inboundReads", size.inboundReads(), maxReadDepth);
        depth("outboundReads", size.outboundReads(), maxReadDepth);
    }

    private static void depth(String name, int value, int maximum) {
        if (value < 0 || value > maximum) {
            throw new IllegalArgumentException(
                    "QueuePairConfig." + name + " is " + value + ", expected 0 to " + maximum);
        }
    }
}
