// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Registrations for local use that have ended for their owner and may be wanted again, the least recently used one
 * first to go. Never anything that a peer can reach: an exposure that ends has to end.
 *
 * <p>The memory is kept alive as far as the garbage collector is concerned. Memory that is freed in another way and
 * mapped anew would be found here with its old pages; so the cache is off unless its limit is set.
 */
final class RegistrationCache {

    private record Range(long address, int length) {}

    /** The memory is held so that nothing else comes to its address. */
    private record Entry(NativeRegion region, ByteBuffer memory) {}

    private final long limit;
    private final MemoryRegistrar registrations;
    private final Map<Range, Entry> entries = new LinkedHashMap<>();
    private long bytes;

    /** @param limit the most bytes kept; 0 keeps nothing */
    RegistrationCache(long limit, MemoryRegistrar registrations) {
        this.limit = limit;
        this.registrations = registrations;
    }

    boolean isEnabled() {
        return limit > 0;
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    long bytes() {
        return bytes;
    }

    /** Takes a registration of exactly this range out, or {@code null}. */
    NativeRegion take(long address, int length) {
        Entry entry = limit > 0 ? entries.remove(new Range(address, length)) : null;
        if (entry == null) {
            return null;
        }
        bytes -= length;
        return entry.region;
    }

    /** Keeps a registration that is not used any more, or ends it. */
    void put(long address, NativeRegion region, ByteBuffer memory) {
        int length = memory.capacity();
        Range range = new Range(address, length);
        if (length > limit || entries.containsKey(range)) {
            registrations.release(region);
            return;
        }
        entries.put(range, new Entry(region, memory));
        bytes += length;
        shrink(limit);
    }

    /** Ends everything that is kept. */
    void clear() {
        shrink(0);
    }

    private void shrink(long most) {
        Iterator<Entry> oldest = entries.values().iterator();
        while (bytes > most && oldest.hasNext()) {
            Entry entry = oldest.next();
            oldest.remove();
            bytes -= entry.memory.capacity();
            registrations.release(entry.region);
        }
    }
}
