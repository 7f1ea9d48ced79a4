// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.internal;

import java.lang.reflect.Constructor;

/** Finds the class behind an internal type by its name: it is package-private elsewhere, and depends on the type. */
final class ChannelImplementationLoader {

    private ChannelImplementationLoader() {}

    static <T> T of(Class<T> type, String name) {
        try {
            Constructor<? extends T> constructor =
                    Class.forName(name, true, type.getClassLoader())
                            .asSubclass(type)
                            .getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(name + " is not there as it was built", e);
        }
    }
}
