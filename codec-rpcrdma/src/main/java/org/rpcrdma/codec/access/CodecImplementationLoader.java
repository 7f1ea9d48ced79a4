// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.access;

import java.lang.reflect.Constructor;

/** Finds the class behind an accessor by its name: it is package-private elsewhere, and depends on the accessor. */
final class CodecImplementationLoader {

    private CodecImplementationLoader() {}

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
