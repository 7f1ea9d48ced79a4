// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Exposed memory range behind one key of a queue pair. */
abstract class HardwareExposure {

    /** Keeps exposures until they end. */
    interface Registry {

        void add(HardwareExposure exposure);

        void remove(HardwareExposure exposure);
    }

    private Registry table;
    private Registry region;

    /** The address of the range that was exposed last. */
    private long offset;

    /** How many ranges are exposed under the key. */
    private int uses;

    /** Its place among those of its region, which the region keeps. */
    int place;

    final void begin(Registry inTable, Registry ofRegion, long address) {
        table = inTable;
        region = ofRegion;
        offset = address;
        uses = 1;
        table.add(this);
        region.add(this);
    }

    abstract int key();

    final long offset() {
        return offset;
    }

    /** One more range under the same key. */
    final void share(long anotherOffset) {
        offset = anotherOffset;
        uses++;
    }

    /** One range less. */
    final void release() {
        if (--uses == 0) {
            end();
        }
    }

    /**
     * Ends it before it returns, however many ranges there are.
     *
     * @throws IllegalStateException when the device refuses
     */
    final void end() {
        forget();
        revoke();
    }

    final void forget() {
        table.remove(this);
        region.remove(this);
    }

    /** Ends the peer's access before it returns. */
    abstract void revoke();
}
