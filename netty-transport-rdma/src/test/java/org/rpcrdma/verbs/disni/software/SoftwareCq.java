// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvWC;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;

/** A completion queue. */
final class SoftwareCq extends IbvCQ {

    final AtomicInteger users = new AtomicInteger();
    final AtomicInteger unacknowledged = new AtomicInteger();
    private final SoftwareDevice device;
    private final SoftwareCompChannel events;
    private final int size;
    private final ArrayDeque<Completion> entries = new ArrayDeque<>();
    private boolean armed;

    SoftwareCq(SoftwareDevice device, IbvContext context, SoftwareCompChannel events, int size)
            throws IOException {
        super(context, events, 0);
        this.device = device;
        this.events = events;
        this.size = size;
        events.users.incrementAndGet();
    }

    synchronized void add(Completion completion) {
        if (device.provider.losesCompletions()) {
            return;
        }
        if (entries.size() == size) {
            device.provider.problem("A completion queue of " + size + " entries has overflowed");
        }
        entries.add(completion);
        if (armed) {
            armed = false;
            events.add(this);
        }
    }

    /** Only a completion that comes after this call is told of. */
    synchronized void arm() {
        armed = true;
    }

    synchronized int take(IbvWC[] to, int most) {
        int count = 0;
        while (count < most && !entries.isEmpty()) {
            entries.poll().copyTo(to[count++]);
        }
        return count;
    }

    synchronized void removeAll(SoftwareQueuePair queuePair) {
        entries.removeIf(entry -> entry.queuePair() == queuePair);
    }
}
