// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.concurrency;

import java.lang.reflect.Proxy;
import java.util.function.Function;

/** Makes objects of interfaces that have a few of their methods. */
public final class Stub {

    private Stub() {}

    /**
     * {@return an object with these methods}
     *
     * @param type an interface
     * @param methods what a method of that name returns
     */
    public static <T> T of(Class<T> type, Function<String, Object> methods) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (self, method, arguments) ->
                                switch (method.getName()) {
                                    // Lincheck asks for these of any object.
                                    case "equals" -> self == arguments[0];
                                    case "hashCode" -> type.hashCode();
                                    case "toString" -> type.getSimpleName();
                                    default -> methods.apply(method.getName());
                                }));
    }
}
