// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/** Sizes of objects on the heap of a 64-bit JVM with compressed pointers, computed: the same on each machine. */
final class ObjectSizes {

    private static final int HEADER = 12;
    private static final int ARRAY_HEADER = 16;
    private static final int REFERENCE = 4;

    private ObjectSizes() {}

    static int array(int length, int shift) {
        return align(ARRAY_HEADER + (length << shift));
    }

    /** Fields are taken to be packed. */
    static int of(Class<?> type) {
        int size = HEADER;
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    size += of(field);
                }
            }
        }
        return align(size);
    }

    /** An object that captures so many values. */
    static int ofLambda(int captured) {
        return align(HEADER + REFERENCE * captured);
    }

    private static int of(Field field) {
        Class<?> type = field.getType();
        if (!type.isPrimitive()) {
            return REFERENCE;
        }
        if (type == long.class || type == double.class) {
            return 8;
        }
        if (type == int.class || type == float.class) {
            return 4;
        }
        return type == short.class || type == char.class ? 2 : 1;
    }

    private static int align(int size) {
        return (size + 7) & ~7;
    }
}
