// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Calls of C, as far as they can be made without a device. */
class DowncallsTest {

    private final Downcalls library = new Downcalls();

    private static boolean isInstalled() {
        try {
            Downcalls.library(Downcalls.LIBRDMACM);
            Downcalls.library(Downcalls.LIBIBVERBS);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** All functions are found when the first of a library is called. */
    @Test
    void everyFunctionIsInTheLibraries() {
        assumeTrue(isInstalled(), "libibverbs1 and librdmacm1 are not installed");
        long channel = library.createEventChannel();
        if (channel == 0) {
            assertThat(library.errno()).isPositive();
        } else {
            library.destroyEventChannel(channel);
        }
        try (Arena arena = Arena.ofConfined()) {
            library.ackCqEvents(arena.allocate(128, Long.BYTES).address(), 0);
        }
    }

    @Test
    void whatHasFailedSaysWhy() {
        assertThat(library.fcntl(-1, StructLayouts.F_GETFL, 0)).isEqualTo(-1);
        assertThat(library.errno()).isEqualTo(9);
        assertThat(library.eventfd(0, -1)).isEqualTo(-1);
        assertThat(library.errno()).isEqualTo(22);
        assertThat(Errno.failed("eventfd", -22))
                .hasMessage("eventfd failed: Invalid argument (EINVAL)");
    }

    // What C would call.

    static int notifyCq(long queue, int solicitedOnly) {
        return queue == 77 && solicitedOnly == 1 ? 5 : -1;
    }

    static int post(long queuePair, long list, long bad) {
        return queuePair == 1L << 40 && list == 2 && bad == 3 ? 12 : -1;
    }

    static long allocateWindow(long domain, int type) {
        return domain + type;
    }

    private static long stub(Arena arena, String name, Class<?> result, Class<?>... arguments)
            throws ReflectiveOperationException {
        MethodHandle handle =
                MethodHandles.lookup()
                        .findStatic(
                                DowncallsTest.class,
                                name,
                                MethodType.methodType(result, arguments));
        return upcall(arena, handle);
    }

    @SuppressWarnings("restricted")
    private static long upcall(Arena arena, MethodHandle handle) {
        MethodType type = handle.type();
        return Linker.nativeLinker()
                .upcallStub(
                        handle,
                        FunctionDescriptor.of(
                                layout(type.returnType()),
                                Arrays.stream(type.parameterArray())
                                        .map(DowncallsTest::layout)
                                        .toArray(ValueLayout[]::new)),
                        arena)
                .address();
    }

    private static ValueLayout layout(Class<?> type) {
        return type == long.class ? ValueLayout.JAVA_LONG : ValueLayout.JAVA_INT;
    }

    /** Not those that are critical: the JVM ends when such a call comes back into Java. */
    @Test
    void functionsOfADeviceAreCalledByThePointersInItsContext() throws Exception {
        try (Arena arena = Arena.ofShared()) {
            long context = arena.allocate(328, Long.BYTES).address();
            CMemory.putLong(
                    context + 104, stub(arena, "notifyCq", int.class, long.class, int.class));
            CMemory.putLong(
                    context + 208,
                    stub(arena, "post", int.class, long.class, long.class, long.class));
            CMemory.putLong(
                    context + 64, stub(arena, "allocateWindow", long.class, long.class, int.class));
            NativeFunctions.Operations operations = library.operations(context);
            assertThat(operations.reqNotifyCq(77, 1)).isEqualTo(5);
            assertThat(operations.postSend(1L << 40, 2, 3)).isEqualTo(12);
            assertThat(operations.allocMw(1L << 41, 2)).isEqualTo((1L << 41) + 2);
        }
    }

    /** What GraalVM has to be told of each call. */
    private static String shape(boolean isPointer, String name, MethodHandle handle) {
        List<Class<?>> types = new ArrayList<>(handle.type().parameterList());
        if (isPointer) {
            types.remove(0);
        }
        boolean hasErrno = types.remove(MemorySegment.class);
        List<String> options = new ArrayList<>();
        if (name.equals("FCNTL")) {
            options.add("\"firstVariadicArg\":2");
        }
        if (hasErrno) {
            options.add("\"captureCallState\":true");
        }
        if (name.equals("POLL_CQ") || name.equals("POST_RECV")) {
            options.add("\"critical\":{\"allowHeapAccess\":false}");
        }
        Class<?> result = handle.type().returnType();
        return "{\"returnType\":\""
                + (result == void.class ? "void" : "j" + result)
                + "\",\"parameterTypes\":["
                + types.stream().map(t -> "\"j" + t + '"').collect(Collectors.joining(","))
                + ']'
                + (options.isEmpty() ? "" : ",\"options\":{" + String.join(",", options) + '}')
                + '}';
    }

    @Test
    void everyCallIsKnownToNativeImages() throws Exception {
        String metadata;
        try (InputStream in =
                DowncallsTest.class.getResourceAsStream(
                        "/META-INF/native-image/org.rpcrdma/netty-transport-rdma/"
                                + "reachability-metadata.json")) {
            metadata = new String(in.readAllBytes(), UTF_8).replaceAll("\\s", "");
        }
        assumeTrue(isInstalled(), "libibverbs1 and librdmacm1 are not installed");
        int handles = 0;
        for (Class<?> group : Downcalls.class.getDeclaredClasses()) {
            for (Field field : group.getDeclaredFields()) {
                if (field.getType() == MethodHandle.class) {
                    handles++;
                    field.setAccessible(true);
                    assertThat(metadata)
                            .as(field.getName())
                            .contains(
                                    shape(
                                            group.getSimpleName().equals("Pointers"),
                                            field.getName(),
                                            (MethodHandle) field.get(null)));
                }
            }
        }
        assertThat(handles).isEqualTo(47);
    }
}
