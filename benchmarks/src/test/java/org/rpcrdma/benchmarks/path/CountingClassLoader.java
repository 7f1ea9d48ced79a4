// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.io.IOException;
import java.io.InputStream;

/**
 * Defines Netty's classes and this project's anew, instrumented: their statics are fresh, whatever the JVM did before,
 * and nothing but this loader's classes is slower. Assertions are off, whatever the JVM was told.
 */
final class CountingClassLoader extends ClassLoader {

    static {
        registerAsParallelCapable();
    }

    CountingClassLoader() {
        super(CountingClassLoader.class.getClassLoader());
        setDefaultAssertionStatus(false);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (name.equals(PathCounters.class.getName())
                || !(name.startsWith("io.netty.") || name.startsWith("org.rpcrdma."))) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? define(name) : loaded;
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        byte[] bytes;
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            bytes = in.readAllBytes();
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
        if (Family.of(name) != null) {
            bytes = PathInstrumentation.instrument(bytes);
        }
        return defineClass(name, bytes, 0, bytes.length);
    }
}
