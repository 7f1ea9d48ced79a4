// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.iwarp.RnicThread;

/**
 * What stands behind {@link SoftwareLibrary}: one device, that is the software RNIC, the objects that programs have
 * made of it, and file descriptors to wait for. Addresses of objects are never used again, so that whoever uses one
 * that is destroyed, which would be the end of the JVM, is found out.
 */
final class SoftwareKernel {

    /** The devices, one behind each. */
    enum Kind {
        /** Like soft-iWARP. */
        IWARP(StructLayouts.TRANSPORT_IWARP),
        /** Like soft-RoCE. */
        ROCE(0);

        private final int transport;

        Kind(int transport) {
            this.transport = transport;
        }
    }

    private static final Map<Kind, SoftwareKernel> INSTANCES = new EnumMap<>(Kind.class);

    final Kind kind;

    private static final short POLLERR = 8;

    /** Something to wait for. */
    static final class Descriptor {
        long value;
        boolean isNonBlocking;

        /** As after the device was taken away: in error once it is empty, and for ever. */
        boolean isBroken;

        /** How often it was found in error. */
        int errors;
    }

    final RnicThread rnic;
    final long context;
    final SoftwareWindows windows = new SoftwareWindows(this);

    /** What messages stand for that are under way; their ends may not both be there. On the RNIC's thread alone. */
    final Map<SoftwareQp.Message, SoftwareQp.Immediate> immediates = new HashMap<>();

    private final List<String> problems = new CopyOnWriteArrayList<>();
    private final Map<Long, Object> objects = new ConcurrentHashMap<>();
    private final Map<Integer, Descriptor> descriptors = new HashMap<>();
    private int lastDescriptor = 1000;
    private volatile UnaryOperator<CmEvent.Type> eventFilter = UnaryOperator.identity();

    private SoftwareKernel(Kind kind) throws IOException {
        this.kind = kind;
        rnic = new RnicThread(this::problem);
        long device = allocate(664);
        CMemory.putInt(device + StructLayouts.DEVICE_TRANSPORT, kind.transport);
        CMemory.putBytes(device + StructLayouts.DEVICE_NAME, new byte[] {'s', 'o', 'f', 't', '0'});
        context = allocate(328);
        CMemory.putLong(context + StructLayouts.CONTEXT_DEVICE, device);
        CMemory.putInt(context + StructLayouts.CONTEXT_ASYNC_FD, open());
        CMemory.putInt(context + StructLayouts.CONTEXT_VECTORS, 1);
    }

    static synchronized SoftwareKernel get(Kind kind) {
        return INSTANCES.computeIfAbsent(
                kind,
                fresh -> {
                    try {
                        return new SoftwareKernel(fresh);
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    static synchronized List<SoftwareKernel> all() {
        return List.copyOf(INSTANCES.values());
    }

    /** Zeroed memory, for good. */
    static long allocate(long size) {
        return Arena.global().allocate(size, Long.BYTES).address();
    }

    void problem(String problem) {
        problems.add(problem);
    }

    /** What was done in a way that a real library does not forgive. */
    List<String> problems() {
        return List.copyOf(problems);
    }

    void filterEvents(UnaryOperator<CmEvent.Type> filter) {
        eventFilter = filter;
    }

    CmEvent.Type filtered(CmEvent.Type type) {
        return eventFilter.apply(type);
    }

    // ------------------------------------------------------------------ objects

    <T> T made(long pointer, T object) {
        objects.put(pointer, object);
        return object;
    }

    <T> T find(long pointer, Class<T> type) {
        Object object = objects.get(pointer);
        if (!type.isInstance(object)) {
            IllegalStateException stale =
                    new IllegalStateException(
                            "no " + type.getSimpleName() + " at " + Long.toHexString(pointer));
            problem(stale + " " + List.of(stale.getStackTrace()).subList(0, 8));
            throw stale;
        }
        return type.cast(object);
    }

    <T> T destroy(long pointer, Class<T> type) {
        T object = find(pointer, type);
        objects.remove(pointer);
        return object;
    }

    /** The object at an address, or {@code null} when it is destroyed. */
    Object at(long pointer) {
        return objects.get(pointer);
    }

    <T> List<T> all(Class<T> type) {
        return objects.values().stream().filter(type::isInstance).map(type::cast).toList();
    }

    /** How many objects there are, by kind. */
    Map<String, Integer> living() {
        Map<String, Integer> living = new TreeMap<>();
        objects.values().forEach(o -> living.merge(o.getClass().getSimpleName(), 1, Integer::sum));
        synchronized (this) {
            living.put("file descriptor", descriptors.size());
        }
        return living;
    }

    // ------------------------------------------------------------------ file descriptors

    synchronized int open() {
        descriptors.put(++lastDescriptor, new Descriptor());
        return lastDescriptor;
    }

    synchronized void close(int fd) {
        if (descriptors.remove(fd) == null) {
            problem("file descriptor " + fd + " was closed twice");
        }
    }

    synchronized Descriptor descriptor(int fd) {
        Descriptor descriptor = descriptors.get(fd);
        if (descriptor == null) {
            problem("file descriptor " + fd + " is closed");
            return new Descriptor();
        }
        return descriptor;
    }

    /** Makes a descriptor readable by so much more. */
    synchronized void add(int fd, long value) {
        Descriptor descriptor = descriptors.get(fd);
        if (descriptor != null) {
            descriptor.value += value;
            notifyAll();
        }
    }

    synchronized long take(int fd) {
        Descriptor descriptor = descriptor(fd);
        long value = descriptor.value;
        descriptor.value = 0;
        return value;
    }

    /** {@code ppoll}. */
    synchronized int poll(long fds, long count, long nanos) {
        long start = System.nanoTime();
        while (true) {
            int ready = 0;
            for (int i = 0; i < count; i++) {
                long at = fds + (long) i * StructLayouts.POLL_SIZE;
                int fd = CMemory.getInt(at);
                int returned = fd < 0 ? 0 : state(descriptor(fd));
                CMemory.putShort(at + StructLayouts.POLL_RETURNED, returned);
                ready += returned == 0 ? 0 : 1;
            }
            long left = nanos - (System.nanoTime() - start);
            if (ready > 0 || (nanos != Long.MAX_VALUE && left <= 0)) {
                return ready;
            }
            try {
                wait(nanos == Long.MAX_VALUE ? 0 : left / 1_000_000 + 1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return 0;
            }
        }
    }

    private static int state(Descriptor descriptor) {
        if (descriptor.value > 0) {
            return StructLayouts.POLLIN;
        }
        if (descriptor.isBroken) {
            descriptor.errors++;
            return POLLERR;
        }
        return 0;
    }

    /** A queue that a descriptor tells of. */
    final class Pipe<T> {
        final int fd = open();
        private final ArrayDeque<T> queue = new ArrayDeque<>();

        void put(T item) {
            synchronized (SoftwareKernel.this) {
                queue.add(item);
                add(fd, 1);
            }
        }

        T poll() {
            synchronized (SoftwareKernel.this) {
                T item = queue.poll();
                if (item != null) {
                    descriptor(fd).value--;
                }
                return item;
            }
        }

        /** Moves what belongs to something else there. */
        void moveTo(Pipe<T> other, java.util.function.Predicate<T> which) {
            synchronized (SoftwareKernel.this) {
                queue.removeIf(
                        item -> {
                            if (which.test(item)) {
                                add(fd, -1);
                                other.put(item);
                                return true;
                            }
                            return false;
                        });
            }
        }

        void close() {
            SoftwareKernel.this.close(fd);
        }
    }
}
