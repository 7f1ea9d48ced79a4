// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A registration that nobody gets is none. */
class MemoryRegistrarTest {

    private final FakeDevice device = new FakeDevice();

    /** Where each new entry is there when there is no memory for a larger table. */
    private static final class FullTable extends HashMap<Integer, NativeRegion> {
        private static final long serialVersionUID = 1;

        @Override
        public NativeRegion put(Integer key, NativeRegion region) {
            super.put(key, region);
            throw new OutOfMemoryError("of the test");
        }

        @Override
        public boolean remove(Object key, Object region) {
            super.remove(key, region);
            throw new OutOfMemoryError("of the test");
        }
    }

    /** Of keys, each of which is an object of its own unless it is made beforehand. */
    private static final class KeyTable extends HashMap<Integer, NativeRegion> {
        private static final long serialVersionUID = 1;
        private final transient Set<Object> keys =
                Collections.newSetFromMap(new IdentityHashMap<>());

        @Override
        public NativeRegion put(Integer key, NativeRegion region) {
            keys.add(key);
            return super.put(key, region);
        }

        @Override
        public boolean remove(Object key, Object region) {
            keys.add(key);
            return super.remove(key, region);
        }
    }

    /** What ends a registration needs no memory for its key: the device could write on where memory is freed. */
    @Test
    void theEndOfARegistrationNeedsNoMemory() {
        device.lastKey = 1000; // the JDK keeps objects for small ones
        KeyTable table = new KeyTable();
        MemoryRegistrar registrations = new MemoryRegistrar(device, 0, table);
        registrations.deregister(registrations.registerLocal(ByteBuffer.allocateDirect(100)));
        assertThat(table.keys).hasSize(1);
        assertThat(device.registrations).isZero();
        assertThat(registrations.bytes()).isZero();
    }

    @Test
    void whatCannotBeNotedIsDeregistered() {
        Map<Integer, NativeRegion> table = new FullTable();
        MemoryRegistrar registrations = new MemoryRegistrar(device, 0, table);
        assertThatThrownBy(() -> registrations.registerLocal(ByteBuffer.allocateDirect(100)))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(device.registrations).isZero();
        assertThat(registrations.bytes()).isZero();
        assertThat(table).isEmpty();
    }
}
