// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaEventChannel;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Events that nobody has taken yet. */
final class SoftwareEventChannel extends RdmaEventChannel {

    private record Event(EventType type, SoftwareId listener, SoftwareId id) {}

    private final SoftwareDevice device;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private volatile Thread taker;

    SoftwareEventChannel(SoftwareDevice device) throws IOException {
        super(0);
        this.device = device;
    }

    void add(EventType type, SoftwareId listener, SoftwareId id) {
        EventType filtered = device.provider.filtered(type);
        if (filtered == EventType.RDMA_CM_EVENT_DEVICE_REMOVAL && listener != null) {
            events.add(new Event(filtered, null, listener));
            destroy(id);
        } else if (filtered != null) {
            events.add(new Event(filtered, listener, id));
        }
    }

    private void destroy(SoftwareId id) {
        try {
            id.destroyId();
        } catch (IOException e) {
            device.provider.problem("An identifier could not be destroyed: " + e);
        }
    }

    boolean isTakenByThisThread() {
        return taker == Thread.currentThread();
    }

    /**
     * The next event of an identifier that still exists, or {@code null} after so many milliseconds; -1 waits for ever.
     */
    @SuppressWarnings("EnumOrdinal") // the numbers of DiSNI's constants
    RdmaCmEvent next(int timeout) throws IOException {
        taker = Thread.currentThread();
        try {
            Event event = timeout < 0 ? events.take() : events.poll(timeout, TimeUnit.MILLISECONDS);
            RdmaCmId subject =
                    event == null ? null : event.listener == null ? event.id : event.listener;
            if (subject == null) {
                return null;
            }
            if (!subject.isOpen()) {
                if (event.id.isOpen()) {
                    event.id.destroyId(); // the kernel destroys the requests of a listener with it
                }
                return null;
            }
            if (event.type != EventType.RDMA_CM_EVENT_ADDR_RESOLVED
                    && event.type != EventType.RDMA_CM_EVENT_ROUTE_RESOLVED) {
                event.id.awaitsAnswer = false;
            }
            return new RdmaCmEvent(event.type.ordinal(), event.listener, event.id);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }
}
