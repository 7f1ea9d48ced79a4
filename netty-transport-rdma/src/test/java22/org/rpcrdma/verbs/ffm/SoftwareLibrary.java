// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.VerbsConstants;
import org.rpcrdma.verbs.hardware.WorkRequestLayout;

/**
 * libibverbs and librdmacm without hardware: functions as those of C, with pointers to structures as C has them, on the
 * software RNIC. Private data has its length on each of its devices. On the one that is like soft-iWARP a connect
 * blocks, and refusals are no events.
 */
final class SoftwareLibrary implements NativeFunctions {

    private static final int EBUSY = 16;
    private static final int EINVAL = 22;
    private static final int ENOMEM = 12;
    private static final int EOPNOTSUPP = 95;
    private static final int EADDRINUSE = 98;
    private static final int MAX_READS = 128;

    /** What a real device would never hold back, but a test may. */
    static volatile long memoryLimit = Long.MAX_VALUE;

    /** Whether no identifier can be moved to another event channel. */
    static volatile boolean failsToMigrate;

    private final SoftwareKernel kernel;
    private final boolean hasWindows;
    private int errno;

    SoftwareLibrary(SoftwareKernel.Kind kind, boolean hasWindows) {
        kernel = SoftwareKernel.get(kind);
        this.hasWindows = hasWindows;
    }

    // ------------------------------------------------------------------ objects

    static final class Pd {
        int regions;
        int windows;
    }

    record Mr(Pd domain, MemoryRegion region, int length, int access, AtomicInteger windows) {}

    final class CompChannel {
        final SoftwareKernel.Pipe<Cq> events = kernel.new Pipe<>();
        int users;
    }

    /** A completion queue. */
    static final class Cq {
        private final SoftwareKernel kernel;
        private final CompChannel channel;
        private final int size;
        private final ArrayDeque<long[]> entries = new ArrayDeque<>();
        final long pointer = SoftwareKernel.allocate(128);
        private boolean armed;
        int users;
        int unacknowledged;

        Cq(SoftwareKernel kernel, CompChannel channel, int size) {
            this.kernel = kernel;
            this.channel = channel;
            this.size = size;
            CMemory.putInt(pointer + StructLayouts.CQ_ENTRIES, size);
        }

        void add(long workId, int status, int opcode, int length, int invalidated) {
            // As soft-RoCE says it: a global route header, and the kernel's own flag.
            int said =
                    kernel.kind == SoftwareKernel.Kind.ROCE ? 5 : VerbsConstants.WC_WITH_INVALIDATE;
            add(workId, status, opcode, length, invalidated, invalidated == 0 ? 0 : said);
        }

        /** @param data key or immediate, as the flags say, as it lies in memory */
        synchronized void add(
                long workId, int status, int opcode, int length, int data, int flags) {
            if (kernel.at(pointer) == null) {
                return;
            }
            if (entries.size() == size) {
                kernel.problem("A completion queue of " + size + " entries has overflowed");
            }
            entries.add(new long[] {workId, status, opcode, length, data, flags});
            if (armed) {
                armed = false;
                channel.events.put(this);
            }
        }

        synchronized int take(int most, long to) {
            int count = 0;
            while (count < most && !entries.isEmpty()) {
                long[] entry = entries.poll();
                long at = to + (long) count++ * WorkRequestLayout.WC_SIZE;
                CMemory.putLong(at + WorkRequestLayout.WC_ID, entry[0]);
                CMemory.putInt(at + WorkRequestLayout.WC_STATUS, (int) entry[1]);
                if (entry[1] == 0) {
                    CMemory.putInt(at + WorkRequestLayout.WC_OPCODE, (int) entry[2]);
                    CMemory.putInt(at + WorkRequestLayout.WC_LENGTH, (int) entry[3]);
                    CMemory.putInt(at + WorkRequestLayout.WC_INVALIDATED, (int) entry[4]);
                    CMemory.putInt(at + WorkRequestLayout.WC_FLAGS, (int) entry[5]);
                }
            }
            return count;
        }

        synchronized void arm() {
            armed = true;
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
    private record Event(Id id, CmEvent.Type type, int status, byte[] data, Id listener) {}

    /** An event that was taken and is not acknowledged. */
    private record Taken(Id id) {}

    final class EventChannel {
        final SoftwareKernel.Pipe<Event> events = kernel.new Pipe<>();
    }

    /** An identifier. */
    final class Id {
        final long pointer = SoftwareKernel.allocate(StructLayouts.ID_SIZE);
        volatile EventChannel channel;
        Listener listener;
        ConnectionRequest request;
        SoftwareQp qp;
        volatile boolean answered;
        final AtomicInteger unacknowledged = new AtomicInteger();

        Id(EventChannel channel) {
            this.channel = channel;
            kernel.made(pointer, this);
        }

        void event(CmEvent.Type type, int status, byte[] data) {
            event(type, status, data, null);
        }

        void event(CmEvent.Type type, int status, byte[] data, Id listening) {
            CmEvent.Type filtered = kernel.filtered(type);
            if (filtered == null) {
                return;
            }
            if (qp != null && qp.queuePair.localAddress() != null) {
                putAddress(StructLayouts.ID_SOURCE, qp.queuePair.localAddress());
            }
            boolean isLost = filtered != type && listening != null;
            synchronized (kernel) {
                channel.events.put(
                        isLost
                                ? new Event(listening, filtered, status, data, null)
                                : new Event(this, filtered, status, data, listening));
            }
        }

        void putAddress(int field, InetSocketAddress address) {
            try {
                SocketAddresses.put(pointer + field, address);
            } catch (IOException e) {
                kernel.problem(e.toString());
            }
        }

        InetSocketAddress address(int field) {
            try {
                return SocketAddresses.get(pointer + field);
            } catch (IOException e) {
                return null;
            }
        }
    }

    private int fail(int number) {
        errno = number;
        return -1;
    }

    private <T> T call(Callable<T> action) throws IOException {
        return kernel.rnic.call(action);
    }

    private EventChannel channel(long pointer) {
        return kernel.find(pointer, EventChannel.class);
    }

    private Id id(long pointer) {
        return kernel.find(pointer, Id.class);
    }

    @Override
    public int errno() {
        return errno;
    }

    // ------------------------------------------------------------------ librdmacm

    private record DeviceList() {}

    @Override
    public long getDevices(long count) {
        CMemory.putInt(count, 1);
        long list = SoftwareKernel.allocate(16);
        CMemory.putLong(list, kernel.context);
        kernel.made(list, new DeviceList());
        return list;
    }

    @Override
    public void freeDevices(long devices) {
        kernel.destroy(devices, DeviceList.class);
    }

    @Override
    public long createEventChannel() {
        long pointer = SoftwareKernel.allocate(8);
        EventChannel made = kernel.made(pointer, new EventChannel());
        CMemory.putInt(pointer, made.events.fd);
        return pointer;
    }

    @Override
    public void destroyEventChannel(long pointer) {
        EventChannel channel = kernel.destroy(pointer, EventChannel.class);
        if (kernel.all(Id.class).stream().anyMatch(id -> id.channel == channel && !isPending(id))) {
            kernel.problem("An event channel was destroyed before its identifiers");
        }
        // The kernel refuses the requests that nobody has taken.
        for (Event event = channel.events.poll(); event != null; event = channel.events.poll()) {
            if (event.listener != null) {
                kernel.destroy(event.id.pointer, Id.class);
                event.id.request.reject(new byte[0]);
            }
        }
        channel.events.close();
    }

    /** A request whose event nobody has taken. */
    private boolean isPending(Id id) {
        return id.request != null && id.qp == null;
    }

    @Override
    public int createId(long channel, long to) {
        Id made = new Id(channel(channel));
        CMemory.putLong(to, made.pointer);
        return 0;
    }

    @Override
    public int destroyId(long pointer) {
        Id id = kernel.destroy(pointer, Id.class);
        if (id.qp != null) {
            kernel.problem("An identifier was destroyed before its queue pair");
        }
        if (id.unacknowledged.get() > 0) {
            kernel.problem("Destroying an identifier with events not acknowledged waits for them");
        }
        try {
            if (id.listener != null) {
                call(
                        () -> {
                            id.listener.close();
                            return null;
                        });
            }
            if (id.request != null && !id.answered) {
                call(
                        () -> {
                            id.request.reject(new byte[0]);
                            return null;
                        });
            }
        } catch (IOException e) {
            kernel.problem(e.toString());
        }
        return 0;
    }

    @Override
    public int migrateId(long pointer, long channel) {
        if (failsToMigrate) {
            return fail(ENOMEM);
        }
        Id id = id(pointer);
        synchronized (kernel) {
            EventChannel from = id.channel;
            id.channel = channel(channel);
            from.events.moveTo(id.channel.events, event -> event.id == id);
        }
        return 0;
    }

    @Override
    public int setOption(long id, int level, int name, long value, long length) {
        id(id);
        return 0;
    }

    @Override
    public int bindAddr(long pointer, long at) {
        Id id = id(pointer);
        try {
            InetSocketAddress address = SocketAddresses.get(at);
            id.putAddress(StructLayouts.ID_SOURCE, address);
            if (!address.getAddress().isAnyLocalAddress()) {
                if (!address.getAddress().isLoopbackAddress()
                        && NetworkInterface.getByInetAddress(address.getAddress()) == null) {
                    return fail(Errno.ENODEV);
                }
                CMemory.putLong(pointer + StructLayouts.ID_VERBS, kernel.context);
            }
            return 0;
        } catch (IOException e) {
            return fail(EINVAL);
        }
    }

    @Override
    public int listen(long pointer, int backlog) {
        Id id = id(pointer);
        ListenerHandler handler =
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        requested(id, request);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        kernel.problem("Accepting failed: " + cause);
                    }
                };
        try {
            InetSocketAddress local = id.address(StructLayouts.ID_SOURCE);
            id.listener = call(() -> kernel.rnic.context().listen(local, backlog, handler));
            id.putAddress(StructLayouts.ID_SOURCE, id.listener.localAddress());
            return 0;
        } catch (IOException e) {
            return fail(EADDRINUSE);
        }
    }

    private void requested(Id listener, ConnectionRequest request) {
        Id made = new Id(listener.channel);
        made.request = request;
        made.putAddress(StructLayouts.ID_SOURCE, request.localAddress());
        made.putAddress(StructLayouts.ID_DESTINATION, request.remoteAddress());
        CMemory.putLong(made.pointer + StructLayouts.ID_VERBS, kernel.context);
        CmEvent.Type type = kernel.filtered(CmEvent.Type.CONNECT_REQUEST);
        if (type != CmEvent.Type.CONNECT_REQUEST) {
            kernel.destroy(made.pointer, Id.class);
            request.reject(new byte[0]);
        }
        made.event(CmEvent.Type.CONNECT_REQUEST, 0, request.privateData(), listener);
    }

    @Override
    public int resolveAddr(long pointer, long address, int millis) {
        Id id = id(pointer);
        try {
            id.putAddress(StructLayouts.ID_DESTINATION, SocketAddresses.get(address));
        } catch (IOException e) {
            return fail(EINVAL);
        }
        id.event(CmEvent.Type.ADDR_RESOLVED, 0, new byte[0]);
        return 0;
    }

    @Override
    public int resolveRoute(long pointer, int millis) {
        id(pointer).event(CmEvent.Type.ROUTE_RESOLVED, 0, new byte[0]);
        return 0;
    }

    @Override
    public int createQp(long pointer, long domain, long attributes) {
        Id id = id(pointer);
        kernel.find(domain, Pd.class);
        Cq queue =
                kernel.find(CMemory.getLong(attributes + StructLayouts.QP_INIT_SEND_CQ), Cq.class);
        SoftwareQp made = new SoftwareQp(kernel, id, queue);
        QueuePairConfig size =
                new QueuePairConfig(
                        2 * CMemory.getInt(attributes + StructLayouts.QP_INIT_MAX_SEND_WR),
                        CMemory.getInt(attributes + StructLayouts.QP_INIT_MAX_RECV_WR),
                        MAX_READS,
                        MAX_READS);
        try {
            made.queuePair =
                    call(
                            () ->
                                    id.request == null
                                            ? kernel.rnic.context().createQueuePair(size, made)
                                            : kernel.rnic
                                                    .context()
                                                    .createQueuePair(id.request, size, made));
        } catch (IOException e) {
            return fail(EINVAL);
        }
        id.answered = true;
        id.qp = made;
        queue.users++;
        kernel.made(made.pointer, made);
        CMemory.putLong(pointer + StructLayouts.ID_QP, made.pointer);
        return 0;
    }

    @Override
    public void destroyQp(long pointer) {
        Id id = id(pointer);
        SoftwareQp qp =
                kernel.destroy(CMemory.getLong(pointer + StructLayouts.ID_QP), SoftwareQp.class);
        CMemory.putLong(pointer + StructLayouts.ID_QP, 0);
        id.qp = null;
        if (kernel.windows.isBoundTo(qp)) {
            kernel.problem("A queue pair was destroyed before the windows that are bound to it");
        }
        closeQp(qp);
        qp.queue().users--;
    }

    private void closeQp(SoftwareQp qp) {
        try {
            call(
                    () -> {
                        qp.close();
                        return null;
                    });
        } catch (IOException e) {
            kernel.problem(e.toString());
        }
    }

    private static byte[] data(long parameters) {
        long data = CMemory.getLong(parameters + StructLayouts.PARAM_DATA);
        int length = CMemory.getUnsignedByte(parameters + StructLayouts.PARAM_DATA_LENGTH);
        return length == 0 ? new byte[0] : CMemory.getBytes(data, length);
    }

    @Override
    public int connect(long pointer, long parameters) {
        Id id = id(pointer);
        boolean isAnswered =
                id.qp.connect(
                        id.address(StructLayouts.ID_DESTINATION),
                        id.address(StructLayouts.ID_SOURCE),
                        data(parameters));
        return isAnswered ? 0 : fail(Errno.ECONNREFUSED);
    }

    @Override
    public int accept(long pointer, long parameters) {
        id(pointer).qp.accept(data(parameters));
        return 0;
    }

    @Override
    public int reject(long pointer, long privateData, byte length) {
        Id id = id(pointer);
        byte[] data = length == 0 ? new byte[0] : CMemory.getBytes(privateData, length & 0xff);
        id.answered = true;
        kernel.rnic.execute(() -> id.request.reject(data));
        return 0;
    }

    @Override
    public int disconnect(long pointer) {
        Id id = id(pointer);
        if (id.qp == null) {
            return fail(EINVAL);
        }
        id.qp.disconnect();
        return 0;
    }

    @Override
    @SuppressWarnings("EnumOrdinal") // the numbers of C
    public int getCmEvent(long channel, long to) {
        EventChannel events = channel(channel);
        Event event = events.events.poll();
        while (event != null
                && kernel.at((event.listener == null ? event.id : event.listener).pointer)
                        == null) {
            if (event.listener != null) {
                destroyId(event.id.pointer); // the kernel does it with the listener
            }
            event = events.events.poll();
        }
        if (event == null) {
            return fail(Errno.EAGAIN);
        }
        event.id.unacknowledged.incrementAndGet();
        long at = SoftwareKernel.allocate(StructLayouts.EVENT_SIZE + event.data.length);
        kernel.made(at, new Taken(event.id));
        CMemory.putLong(at + StructLayouts.EVENT_ID, event.id.pointer);
        CMemory.putLong(
                at + StructLayouts.EVENT_LISTENER,
                event.listener == null ? 0 : event.listener.pointer);
        CMemory.putInt(at + StructLayouts.EVENT_TYPE, event.type.ordinal());
        CMemory.putInt(at + StructLayouts.EVENT_STATUS, event.status);
        if (event.data.length > 0) {
            CMemory.putLong(at + StructLayouts.EVENT_DATA, at + StructLayouts.EVENT_SIZE);
            CMemory.putByte(at + StructLayouts.EVENT_DATA_LENGTH, event.data.length);
            CMemory.putBytes(at + StructLayouts.EVENT_SIZE, event.data);
        }
        // A request is as that of the Linux client, which sends no Reads and answers many.
        boolean isRequest = event.listener != null;
        CMemory.putByte(at + StructLayouts.EVENT_RESPONDER, isRequest ? 0 : MAX_READS);
        CMemory.putByte(at + StructLayouts.EVENT_INITIATOR, MAX_READS);
        CMemory.putLong(to, at);
        return 0;
    }

    @Override
    public int ackCmEvent(long event) {
        kernel.destroy(event, Taken.class).id.unacknowledged.decrementAndGet();
        CMemory.clear(event, StructLayouts.EVENT_SIZE);
        return 0;
    }

    // ------------------------------------------------------------------ libibverbs

    @Override
    public int queryDevice(long context, long attributes) {
        CMemory.clear(attributes, StructLayouts.ATTR_SIZE);
        CMemory.putInt(
                attributes + StructLayouts.ATTR_VENDOR,
                kernel.kind == SoftwareKernel.Kind.ROCE ? 0xffffff : 1);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_QP, 1 << 16);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_SGE, 6);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_SGE_RD, 1);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_CQE, 1 << 16);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_QP_RD_ATOM, MAX_READS);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_QP_INIT_RD_ATOM, MAX_READS);
        CMemory.putInt(attributes + StructLayouts.ATTR_FLAGS, StructLayouts.DEVICE_MW_TYPE_2);
        CMemory.putInt(attributes + StructLayouts.ATTR_MAX_MW, 1 << 16);
        CMemory.putByte(attributes + StructLayouts.ATTR_PORTS, 1);
        return 0;
    }

    @Override
    public int queryPort(long context, byte port, long attributes) {
        CMemory.putInt(attributes + StructLayouts.PORT_STATE, StructLayouts.PORT_ACTIVE);
        return 0;
    }

    @Override
    public long allocPd(long context) {
        long pointer = SoftwareKernel.allocate(16);
        kernel.made(pointer, new Pd());
        return pointer;
    }

    @Override
    public int deallocPd(long domain) {
        if (kernel.find(domain, Pd.class).regions > 0) {
            kernel.problem("A protection domain was freed before its regions");
            return EBUSY;
        }
        kernel.destroy(domain, Pd.class);
        return 0;
    }

    @Override
    @SuppressWarnings("restricted")
    public long regMr(long domainPointer, long address, long length, int access) {
        Pd domain = kernel.find(domainPointer, Pd.class);
        synchronized (kernel) {
            long sum = length + kernel.all(Mr.class).stream().mapToLong(Mr::length).sum();
            if (sum > memoryLimit) {
                errno = ENOMEM;
                return 0;
            }
        }
        int rights =
                ((access & VerbsConstants.REMOTE_READ) != 0 ? QueuePair.REMOTE_READ : 0)
                        | ((access & VerbsConstants.REMOTE_WRITE) != 0
                                ? QueuePair.REMOTE_WRITE
                                : 0);
        MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(length);
        long pointer = SoftwareKernel.allocate(48);
        try {
            call(
                    () -> {
                        MemoryRegion region =
                                kernel.rnic.context().register(memory.asByteBuffer(), address);
                        int key = rights == 0 ? 0 : kernel.rnic.rnic().open(region, rights);
                        CMemory.putInt(pointer + StructLayouts.MR_LOCAL_KEY, region.localKey());
                        CMemory.putInt(pointer + StructLayouts.MR_REMOTE_KEY, key);
                        return kernel.made(
                                pointer,
                                new Mr(domain, region, (int) length, access, new AtomicInteger()));
                    });
        } catch (IOException e) {
            kernel.problem(e.toString());
        }
        domain.regions++;
        return pointer;
    }

    @Override
    public int deregMr(long pointer) {
        Mr region = kernel.destroy(pointer, Mr.class);
        region.domain.regions--;
        try {
            if (call(region.windows::get) > 0) {
                kernel.problem("A region was deregistered before the windows that are bound to it");
                return EINVAL;
            }
            call(
                    () -> {
                        region.region.deregister();
                        return null;
                    });
        } catch (IOException e) {
            kernel.problem(e.toString());
        }
        return 0;
    }

    @Override
    public long createCompChannel(long context) {
        long pointer = SoftwareKernel.allocate(16);
        CompChannel made = kernel.made(pointer, new CompChannel());
        CMemory.putInt(pointer + StructLayouts.CHANNEL_FD, made.events.fd);
        return pointer;
    }

    @Override
    public int destroyCompChannel(long pointer) {
        CompChannel channel = kernel.find(pointer, CompChannel.class);
        if (channel.users > 0) {
            kernel.problem("A completion channel was destroyed before its queue");
            return EBUSY;
        }
        kernel.destroy(pointer, CompChannel.class);
        channel.events.close();
        return 0;
    }

    @Override
    public long createCq(long context, int entries, long channelPointer, int vector) {
        CompChannel channel = kernel.find(channelPointer, CompChannel.class);
        channel.users++;
        Cq made = new Cq(kernel, channel, entries);
        kernel.made(made.pointer, made);
        return made.pointer;
    }

    @Override
    public int destroyCq(long pointer) {
        Cq queue = kernel.find(pointer, Cq.class);
        if (queue.users > 0) {
            kernel.problem("A completion queue was destroyed before its queue pairs");
            return EBUSY;
        }
        if (queue.unacknowledged > 0) {
            kernel.problem("Destroying a queue with events that are not acknowledged hangs");
        }
        kernel.destroy(pointer, Cq.class);
        queue.channel.users--;
        return 0;
    }

    @Override
    public int getCqEvent(long channel, long queue, long cookie) {
        Cq told = kernel.find(channel, CompChannel.class).events.poll();
        if (told == null) {
            return fail(Errno.EAGAIN);
        }
        told.unacknowledged++;
        CMemory.putLong(queue, told.pointer);
        return 0;
    }

    @Override
    public void ackCqEvents(long queue, int count) {
        kernel.find(queue, Cq.class).unacknowledged -= count;
    }

    @Override
    public int getAsyncEvent(long context, long event) {
        return fail(Errno.EAGAIN);
    }

    @Override
    public void ackAsyncEvent(long event) {}

    /** To the error state, the only one that is asked for. */
    @Override
    public int modifyQp(long queuePair, long attributes, int mask) {
        closeQp(kernel.find(queuePair, SoftwareQp.class));
        return 0;
    }

    @Override
    public Operations operations(long context) {
        return new Operations() {
            @Override
            public int pollCq(long queue, int most, long completions) {
                return kernel.find(queue, Cq.class).take(most, completions);
            }

            @Override
            public int reqNotifyCq(long queue, int solicitedOnly) {
                kernel.find(queue, Cq.class).arm();
                return 0;
            }

            @Override
            public int postSend(long queuePair, long list, long bad) {
                kernel.find(queuePair, SoftwareQp.class).postSend(list);
                return 0;
            }

            @Override
            public int postRecv(long queuePair, long list, long bad) {
                kernel.find(queuePair, SoftwareQp.class).postReceive(list);
                return 0;
            }

            @Override
            public long allocMw(long domain, int type) {
                if (!hasWindows) {
                    errno = EOPNOTSUPP;
                    return 0;
                }
                SoftwareWindow made = kernel.windows.make(kernel.find(domain, Pd.class));
                made.domain.windows++;
                return made.pointer;
            }

            @Override
            public int deallocMw(long window) {
                SoftwareWindow gone = kernel.destroy(window, SoftwareWindow.class);
                gone.domain.windows--;
                try {
                    call(
                            () -> {
                                kernel.windows.end(gone);
                                return null;
                            });
                } catch (IOException e) {
                    kernel.problem(e.toString());
                }
                return 0;
            }
        };
    }

    // ------------------------------------------------------------------ libc

    @Override
    public int ppoll(long fds, long count, long timeout) {
        long nanos =
                timeout == 0
                        ? Long.MAX_VALUE
                        : CMemory.getLong(timeout) * 1_000_000_000
                                + CMemory.getLong(timeout + Long.BYTES);
        return kernel.poll(fds, count, nanos);
    }

    @Override
    public int eventfd(int value, int flags) {
        return kernel.open();
    }

    @Override
    public int eventfdWrite(int fd, long value) {
        kernel.descriptor(fd);
        kernel.add(fd, value);
        return 0;
    }

    @Override
    public int eventfdRead(int fd, long value) {
        long read = kernel.take(fd);
        CMemory.putLong(value, read);
        return read == 0 ? fail(Errno.EAGAIN) : 0;
    }

    @Override
    public int fcntl(int fd, int command, int argument) {
        kernel.descriptor(fd);
        return 0;
    }

    @Override
    public int close(int fd) {
        kernel.close(fd);
        return 0;
    }
}
