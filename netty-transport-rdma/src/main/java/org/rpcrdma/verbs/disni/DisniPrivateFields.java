// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvContext;
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
final class DisniPrivateFields {

    private DisniPrivateFields() {}

    /** How to post and poll with a provider. */
    static DisniDataPath dataPath(RdmaProvider provider) throws IOException {
        return provider instanceof RdmaProviderNat
                ? new DisniPointerDataPath(
                        (NativeDispatcher)
                                get(field(RdmaProviderNat.class, "nativeDispatcher"), provider))
                : new DisniObjectDataPath();
    }

    /**
     * Gives an event channel a map that several threads may use: DiSNI's own is filled by whoever makes an identifier
     * and read by whoever waits for events, without a lock. It has an answer for identifiers that it does not know.
     */
    static void makeThreadSafe(RdmaEventChannel channel) throws IOException {
        if (channel instanceof NatRdmaEventChannel) {
            try {
                field(NatRdmaEventChannel.class, "idMap").set(channel, new Identifiers(channel));
            } catch (IllegalAccessException e) {
                throw unexpected(e);
            }
        }
    }

    /** Removes a destroyed identifier from an event channel, which DiSNI never does. */
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

    /**
     * Stands for identifiers that are destroyed. DiSNI asks the listener of every request for its device, and without
     * one it would lose the request, whose peer would wait for ever.
     */
    private static final class Unknown extends NatCmaIdPrivate {

        Unknown(RdmaEventChannel channel) throws IOException {
            super(-1, channel, null);
        }

        @Override
        public IbvContext getVerbs() {
            return null;
        }
    }

    private static final class Identifiers extends HashMap<Long, NatCmaIdPrivate> {

        private static final long serialVersionUID = 1L;

        private final transient NatCmaIdPrivate unknown;

        Identifiers(RdmaEventChannel channel) throws IOException {
            unknown = new Unknown(channel);
        }

        @Override
        public synchronized NatCmaIdPrivate get(Object key) {
            return getOrDefault(key, unknown);
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
