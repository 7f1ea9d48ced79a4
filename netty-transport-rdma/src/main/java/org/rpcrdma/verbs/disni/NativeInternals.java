// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.RdmaProvider;
import com.ibm.disni.verbs.impl.NatCmaIdPrivate;
import com.ibm.disni.verbs.impl.NatRdmaEventChannel;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import com.ibm.disni.verbs.impl.RdmaProviderNat;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.HashMap;

/** The only place that reaches into private fields of DiSNI 2.1. */
final class NativeInternals {

    private NativeInternals() {}

    /** How to post and poll with a provider. */
    static DataPath dataPath(RdmaProvider provider) throws IOException {
        return provider instanceof RdmaProviderNat
                ? new PointerCalls(
                        (NativeDispatcher)
                                get(field(RdmaProviderNat.class, "nativeDispatcher"), provider))
                : new ObjectCalls();
    }

    /**
     * Gives an event channel a map that several threads may use: DiSNI's own is filled by whoever makes an identifier and read
     * by whoever waits for events, without a lock.
     */
    static void makeThreadSafe(RdmaEventChannel channel) throws IOException {
        if (channel instanceof NatRdmaEventChannel) {
            try {
                field(NatRdmaEventChannel.class, "idMap").set(channel, new Identifiers());
            } catch (IllegalAccessException e) {
                throw unexpected(e);
            }
        }
    }

    /** Makes an event channel forget an identifier that is destroyed; DiSNI never does. */
    static void forget(RdmaEventChannel channel, Object id) throws IOException {
        if (channel instanceof NatRdmaEventChannel && id instanceof NatCmaIdPrivate identifier) {
            ((HashMap<?, ?>) get(field(NatRdmaEventChannel.class, "idMap"), channel))
                    .remove(identifier.getObjId());
        }
    }

    private static Field field(Class<?> type, String name) throws IOException {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw unexpected(e);
        }
    }

    private static Object get(Field field, Object object) throws IOException {
        try {
            return field.get(object);
        } catch (IllegalAccessException e) {
            throw unexpected(e);
        }
    }

    private static IOException unexpected(Exception e) {
        return new IOException(
                "DiSNI on the class path is not as version 2.1 ("
                        + e.getMessage()
                        + "); use com.ibm.disni:disni:2.1",
                e);
    }

    private static final class Identifiers extends HashMap<Long, NatCmaIdPrivate> {

        private static final long serialVersionUID = 1L;

        @Override
        public synchronized NatCmaIdPrivate get(Object key) {
            return super.get(key);
        }

        @Override
        public synchronized NatCmaIdPrivate put(Long key, NatCmaIdPrivate value) {
            return super.put(key, value);
        }

        @Override
        public synchronized NatCmaIdPrivate remove(Object key) {
            return super.remove(key);
        }
    }
}
