// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The completion queues that have something to tell. */
final class SoftwareCompChannel extends IbvCompChannel {

    final AtomicInteger users = new AtomicInteger();
    private final BlockingQueue<SoftwareCq> events = new LinkedBlockingQueue<>();

    SoftwareCompChannel(IbvContext context) throws IOException {
        super(0, context);
    }

    void add(SoftwareCq queue) {
        events.add(queue);
    }

    boolean next(int timeout) {
        try {
            SoftwareCq queue =
                    timeout < 0 ? events.take() : events.poll(timeout, TimeUnit.MILLISECONDS);
            if (queue == null) {
                return false;
            }
            queue.unacknowledged.incrementAndGet();
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
