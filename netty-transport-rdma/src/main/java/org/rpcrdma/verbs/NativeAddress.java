// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static java.lang.invoke.MethodType.methodType;

import io.netty.util.internal.PlatformDependent;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Native address of direct memory, for devices: by {@code sun.misc.Unsafe} if available to Netty, or from Java 22 on by
 * {@code java.lang.foreign.MemorySegment}, accessed by reflection. Thread-safe.
 */
public final class NativeAddress {

    private static final boolean HAS_UNSAFE = PlatformDependent.hasUnsafe();

    /** {@code (buffer) -> MemorySegment.ofBuffer(buffer).address()}; {@code null} where there is none. */
    private static final MethodHandle OF_SEGMENT = HAS_UNSAFE ? null : findSegments();

    private NativeAddress() {}

    /** {@return whether this JVM exposes addresses} */
    public static boolean isKnown() {
        return HAS_UNSAFE || OF_SEGMENT != null;
    }

    /**
     * {@return the address of the byte at the position of a buffer, 0 where {@link #isKnown()} says no}
     *
     * @param memory direct
     */
    public static long of(ByteBuffer memory) {
        if (HAS_UNSAFE) {
            return PlatformDependent.directBufferAddress(memory) + memory.position();
        }
        if (OF_SEGMENT == null) {
            return 0;
        }
        try {
            return (long) OF_SEGMENT.invokeExact((Buffer) memory);
        } catch (Throwable t) {
            throw new IllegalArgumentException("address of " + memory + " (expected: direct)", t);
        }
    }

    private static MethodHandle findSegments() {
        if (Runtime.version().feature() < 22) {
            return null; // before that it was a preview
        }
        try {
            Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            return MethodHandles.filterReturnValue(
                    lookup.findStatic(segment, "ofBuffer", methodType(segment, Buffer.class)),
                    lookup.findVirtual(segment, "address", methodType(long.class)));
        } catch (ReflectiveOperationException e) {
            return null; // as in a native image that was built without
        }
    }
}
