// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.internal.PlatformDependent;
import java.lang.ref.Reference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The bytes of all objects that can be reached from one, as a 64-bit JVM with compressed pointers lays them out:
 * computed, so that a collection more or less makes no difference. Classes, threads and what is weakly reachable are
 * not followed.
 */
public final class ObjectGraph {

    private static final int HEADER = 12;
    private static final int ARRAY_HEADER = 16;
    private static final int REFERENCE = 4;

    /** What is known of a class: the size of an object, and its references. */
    private record Layout(long bytes, List<Field> references) {}

    private final Map<Class<?>, Layout> layouts = new HashMap<>();
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> next = new ArrayDeque<>();
    private long bytes;

    private ObjectGraph() {}

    /** The bytes that can be reached; nothing may change meanwhile. */
    public static long bytesFrom(Object root) {
        ObjectGraph graph = new ObjectGraph();
        graph.add(root);
        while (!graph.next.isEmpty()) {
            graph.visit(graph.next.poll());
        }
        return graph.bytes;
    }

    private void add(Object object) {
        if (object != null
                && !(object instanceof Class)
                && !(object instanceof ClassLoader)
                && !(object instanceof Thread)
                && !(object instanceof Module)
                && seen.add(object)) {
            next.add(object);
        }
    }

    private void visit(Object object) {
        Class<?> type = object.getClass();
        if (type.isArray()) {
            visitArray(object, type.getComponentType());
            return;
        }
        Layout layout = layout(type);
        bytes += layout.bytes();
        for (Field field : layout.references()) {
            add(value(field, object));
        }
    }

    private void visitArray(Object array, Class<?> component) {
        int length = Array.getLength(array);
        bytes += align(ARRAY_HEADER + (long) length * size(component));
        if (!component.isPrimitive()) {
            for (Object element : (Object[]) array) {
                add(element);
            }
        }
    }

    private Layout layout(Class<?> type) {
        Layout known = layouts.get(type);
        if (known != null) {
            return known;
        }
        long size = HEADER;
        List<Field> references = new ArrayList<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    continue;
                }
                size += size(field.getType());
                if (!field.getType().isPrimitive() && each != Reference.class) {
                    references.add(field);
                }
            }
        }
        Layout layout = new Layout(align(size), references);
        layouts.put(type, layout);
        return layout;
    }

    /** Classes of the JDK are closed; their hidden ones and records to Netty too. */
    private static Object value(Field field, Object object) {
        if (field.trySetAccessible()) {
            try {
                return field.get(object);
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
        Class<?> owner = field.getDeclaringClass();
        return owner.isHidden() || owner.isRecord()
                ? null
                : PlatformDependent.getObject(object, PlatformDependent.objectFieldOffset(field));
    }

    private static int size(Class<?> type) {
        if (!type.isPrimitive()) {
            return REFERENCE;
        }
        if (type == long.class || type == double.class) {
            return Long.BYTES;
        }
        if (type == int.class || type == float.class) {
            return Integer.BYTES;
        }
        return type == short.class || type == char.class ? Short.BYTES : 1;
    }

    private static long align(long size) {
        return (size + 7) & ~7;
    }
}
