// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvMr;

/** What a key of one queue pair stands for: a registration of its own, or a share of the region's. */
final class Exposure {

    private final ExposureTable table;
    private final DisniMemoryRegion region;
    private final Registrations registrations;
    private final IbvMr registration;
    private final boolean isShared;

    /** The address of the range that was exposed last. */
    private long offset;

    /** How many ranges of a shared registration are exposed under the key. */
    private int uses = 1;

    Exposure(
            ExposureTable table,
            DisniMemoryRegion region,
            Registrations registrations,
            IbvMr registration,
            boolean isShared,
            long offset) {
        this.table = table;
        this.region = region;
        this.registrations = registrations;
        this.registration = registration;
        this.isShared = isShared;
        this.offset = offset;
    }

    int key() {
        return registration.getRkey();
    }

    long offset() {
        return offset;
    }

    /** One more range under the same key. */
    void share(long anotherOffset) {
        offset = anotherOffset;
        uses++;
    }

    /** One range less. */
    void release() {
        if (--uses == 0) {
            end();
        }
    }

    /** Ends it, however many ranges there are. A shared registration stays, because other connections use it. */
    void end() {
        table.remove(this);
        region.remove(this);
        if (!isShared) {
            registrations.deregister(registration);
        }
    }
}
