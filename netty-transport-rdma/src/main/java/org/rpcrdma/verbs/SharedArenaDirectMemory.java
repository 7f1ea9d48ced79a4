// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import static java.lang.invoke.MethodType.methodType;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Memory freed immediately on close, without {@code sun.misc.Unsafe}: a shared {@code java.lang.foreign.Arena},
 * accessed by reflection for compatibility with older JDKs. Access after close throws {@link IllegalStateException}.
 * Closing an arena briefly stops every thread of the JVM, so use it for rare allocations. Thread-safe.
 */
public final class SharedArenaDirectMemory implements AutoCloseable {

    /**
     * Before Java 25 the checksums and ciphers of the JDK refuse buffers of shared arenas (JDK-8357145, JDK-8357268).
     */
    private static final int LEAST_JAVA = 25;

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(SharedArenaDirectMemory.class);

    /** {@code null} if unavailable. */
    private static final Methods METHODS = Methods.find();

    private final Object arena;
    private volatile boolean closed;

    /**
     * An arena without memory.
     *
     * @throws UnsupportedOperationException where {@link #isSupported()} says no
     */
    public SharedArenaDirectMemory() {
        if (METHODS == null) {
            throw new UnsupportedOperationException(
                    "arenas of Java " + Runtime.version().feature() + " (expected: 25 or newer)");
        }
        arena = METHODS.newArena();
    }

    /** {@return whether this JVM has arenas with unrestricted memory: from Java 25 on} */
    public static boolean isSupported() {
        return METHODS != null;
    }

    /**
     * Allocates memory until {@link #close()}.
     *
     * @param bytes from 0
     * @return direct memory, all bytes 0; the JVM does not count it against {@code -XX:MaxDirectMemorySize}
     * @throws OutOfMemoryError when there is none
     */
    public ByteBuffer allocate(int bytes) {
        try {
            return (ByteBuffer) METHODS.allocate.invokeExact(arena, (long) bytes);
        } catch (Throwable t) {
            throw unchecked(t);
        }
    }

    /**
     * Maps the beginning of a file for reading and writing until {@link #close()}.
     *
     * @param file open for reading and writing; it grows when it is shorter
     * @param bytes 1 to {@link Integer#MAX_VALUE}
     * @return the bytes of the file
     * @throws IOException when the file cannot be mapped
     */
    public ByteBuffer map(FileChannel file, long bytes) throws IOException {
        try {
            return (ByteBuffer) METHODS.map.invokeExact(file, bytes, arena);
        } catch (IOException e) {
            throw e;
        } catch (Throwable t) {
            throw unchecked(t);
        }
    }

    /** Frees all memory. */
    @Override
    public void close() {
        try {
            METHODS.close.invokeExact(arena);
            closed = true;
        } catch (Throwable t) {
            throw unchecked(t);
        }
    }

    /** Any thread. */
    @Override
    public String toString() {
        return closed ? "SharedArenaDirectMemory(closed)" : "SharedArenaDirectMemory(open)";
    }

    private static RuntimeException unchecked(Throwable t) {
        if (t instanceof Error error) {
            throw error;
        }
        return t instanceof RuntimeException unchecked
                ? unchecked
                : new IllegalStateException("an arena failed", t);
    }

    /**
     * @param open {@code () -> Arena.ofShared()}
     * @param allocate {@code (arena, bytes) -> arena.allocate(bytes, 1).asByteBuffer()}
     * @param map {@code (file, bytes, arena) -> file.map(READ_WRITE, 0, bytes, arena).asByteBuffer()}
     * @param close {@code (arena) -> arena.close()}
     */
    private record Methods(
            MethodHandle open, MethodHandle allocate, MethodHandle map, MethodHandle close) {

        static Methods find() {
            if (Runtime.version().feature() < LEAST_JAVA) {
                return null;
            }
            try {
                Methods methods = look();
                // A native image may have been built without shared arenas.
                methods.close.invokeExact(methods.newArena());
                return methods;
            } catch (Throwable t) {
                logger.debug("There are no shared arenas", t);
                return null;
            }
        }

        private static Methods look() throws ReflectiveOperationException {
            Class<?> arena = Class.forName("java.lang.foreign.Arena");
            Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            MethodHandle asBuffer =
                    lookup.findVirtual(segment, "asByteBuffer", methodType(ByteBuffer.class));
            MethodHandle allocate =
                    lookup.findVirtual(
                            arena, "allocate", methodType(segment, long.class, long.class));
            MethodHandle map =
                    lookup.findVirtual(
                            FileChannel.class,
                            "map",
                            methodType(
                                    segment,
                                    FileChannel.MapMode.class,
                                    long.class,
                                    long.class,
                                    arena));
            return new Methods(
                    lookup.findStatic(arena, "ofShared", methodType(arena))
                            .asType(methodType(Object.class)),
                    MethodHandles.filterReturnValue(
                                    MethodHandles.insertArguments(allocate, 2, 1L), asBuffer)
                            .asType(methodType(ByteBuffer.class, Object.class, long.class)),
                    MethodHandles.filterReturnValue(
                                    MethodHandles.insertArguments(
                                            map, 1, FileChannel.MapMode.READ_WRITE, 0L),
                                    asBuffer)
                            .asType(
                                    methodType(
                                            ByteBuffer.class,
                                            FileChannel.class,
                                            long.class,
                                            Object.class)),
                    lookup.findVirtual(arena, "close", methodType(void.class))
                            .asType(methodType(void.class, Object.class)));
        }

        Object newArena() {
            try {
                return (Object) open.invokeExact();
            } catch (Throwable t) {
                throw unchecked(t);
            }
        }
    }
}
