// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The libraries themselves. Each group of functions is linked when one of them is first called, because linking takes
 * time; the JIT sees through constant handles alone, so each is one.
 */
@SuppressWarnings({"restricted", "NullAway"})
final class Downcalls implements NativeFunctions {

    /** Names of the package that every distribution has. */
    static final String LIBIBVERBS = "libibverbs.so.1";

    static final String LIBRDMACM = "librdmacm.so.1";

    private static final int PORT_SPACE_TCP = 0x106;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");

    /** Memory for errno after a call. Freed by the garbage collector, after the last caller. */
    private final MemorySegment state = Arena.ofAuto().allocate(Linker.Option.captureStateLayout());

    /**
     * Finds a library.
     *
     * @throws IllegalArgumentException when it is not there
     */
    static SymbolLookup library(String name) {
        return SymbolLookup.libraryLookup(name, Arena.global());
    }

    private static MethodHandle link(
            SymbolLookup library, String name, FunctionDescriptor type, Linker.Option... options) {
        return LINKER.downcallHandle(
                library.find(name)
                        .orElseThrow(
                                () ->
                                        new UnsatisfiedLinkError(
                                                "no function " + name + " in the library")),
                type,
                options);
    }

    private static FunctionDescriptor returning(MemoryLayout result, MemoryLayout... arguments) {
        return FunctionDescriptor.of(result, arguments);
    }

    private static FunctionDescriptor nothing(MemoryLayout... arguments) {
        return FunctionDescriptor.ofVoid(arguments);
    }

    /** The handles throw what their types do not say; the functions of C throw nothing. */
    private static AssertionError unexpected(Throwable e) {
        return new AssertionError("a call of C has thrown", e);
    }

    @Override
    public int errno() {
        return state.get(JAVA_INT, 0);
    }

    /** Functions of librdmacm. */
    private static final class Cm {

        private static final SymbolLookup LIBRARY = library(LIBRDMACM);
        static final MethodHandle GET_DEVICES =
                link(LIBRARY, "rdma_get_devices", returning(JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle FREE_DEVICES =
                link(LIBRARY, "rdma_free_devices", nothing(JAVA_LONG));
        static final MethodHandle CREATE_EVENT_CHANNEL =
                link(LIBRARY, "rdma_create_event_channel", returning(JAVA_LONG), ERRNO);
        static final MethodHandle DESTROY_EVENT_CHANNEL =
                link(LIBRARY, "rdma_destroy_event_channel", nothing(JAVA_LONG));
        static final MethodHandle CREATE_ID =
                link(
                        LIBRARY,
                        "rdma_create_id",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT),
                        ERRNO);
        static final MethodHandle DESTROY_ID =
                link(LIBRARY, "rdma_destroy_id", returning(JAVA_INT, JAVA_LONG), ERRNO);
        static final MethodHandle MIGRATE_ID =
                link(LIBRARY, "rdma_migrate_id", returning(JAVA_INT, JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle SET_OPTION =
                link(
                        LIBRARY,
                        "rdma_set_option",
                        returning(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle BIND_ADDR =
                link(LIBRARY, "rdma_bind_addr", returning(JAVA_INT, JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle LISTEN =
                link(LIBRARY, "rdma_listen", returning(JAVA_INT, JAVA_LONG, JAVA_INT), ERRNO);
        static final MethodHandle RESOLVE_ADDR =
                link(
                        LIBRARY,
                        "rdma_resolve_addr",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT),
                        ERRNO);
        static final MethodHandle RESOLVE_ROUTE =
                link(
                        LIBRARY,
                        "rdma_resolve_route",
                        returning(JAVA_INT, JAVA_LONG, JAVA_INT),
                        ERRNO);
        static final MethodHandle CREATE_QP =
                link(
                        LIBRARY,
                        "rdma_create_qp",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle DESTROY_QP = link(LIBRARY, "rdma_destroy_qp", nothing(JAVA_LONG));
        static final MethodHandle CONNECT =
                link(LIBRARY, "rdma_connect", returning(JAVA_INT, JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle ACCEPT =
                link(LIBRARY, "rdma_accept", returning(JAVA_INT, JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle REJECT =
                link(
                        LIBRARY,
                        "rdma_reject",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_BYTE),
                        ERRNO);
        static final MethodHandle DISCONNECT =
                link(LIBRARY, "rdma_disconnect", returning(JAVA_INT, JAVA_LONG), ERRNO);
        static final MethodHandle GET_CM_EVENT =
                link(
                        LIBRARY,
                        "rdma_get_cm_event",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle ACK_CM_EVENT =
                link(LIBRARY, "rdma_ack_cm_event", returning(JAVA_INT, JAVA_LONG), ERRNO);
    }

    /** Functions of libibverbs. */
    private static final class Verbs {

        private static final SymbolLookup LIBRARY = library(LIBIBVERBS);
        static final MethodHandle QUERY_DEVICE =
                link(LIBRARY, "ibv_query_device", returning(JAVA_INT, JAVA_LONG, JAVA_LONG));
        static final MethodHandle QUERY_PORT =
                link(
                        LIBRARY,
                        "ibv_query_port",
                        returning(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG));
        static final MethodHandle ALLOC_PD =
                link(LIBRARY, "ibv_alloc_pd", returning(JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle DEALLOC_PD =
                link(LIBRARY, "ibv_dealloc_pd", returning(JAVA_INT, JAVA_LONG));
        static final MethodHandle REG_MR =
                link(
                        LIBRARY,
                        "ibv_reg_mr",
                        returning(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT),
                        ERRNO);
        static final MethodHandle DEREG_MR =
                link(LIBRARY, "ibv_dereg_mr", returning(JAVA_INT, JAVA_LONG));
        static final MethodHandle CREATE_COMP_CHANNEL =
                link(LIBRARY, "ibv_create_comp_channel", returning(JAVA_LONG, JAVA_LONG), ERRNO);
        static final MethodHandle DESTROY_COMP_CHANNEL =
                link(LIBRARY, "ibv_destroy_comp_channel", returning(JAVA_INT, JAVA_LONG));
        static final MethodHandle CREATE_CQ =
                link(
                        LIBRARY,
                        "ibv_create_cq",
                        returning(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
                        ERRNO);
        static final MethodHandle DESTROY_CQ =
                link(LIBRARY, "ibv_destroy_cq", returning(JAVA_INT, JAVA_LONG));
        static final MethodHandle GET_CQ_EVENT =
                link(
                        LIBRARY,
                        "ibv_get_cq_event",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle ACK_CQ_EVENTS =
                link(LIBRARY, "ibv_ack_cq_events", nothing(JAVA_LONG, JAVA_INT));
        static final MethodHandle GET_ASYNC_EVENT =
                link(
                        LIBRARY,
                        "ibv_get_async_event",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle ACK_ASYNC_EVENT =
                link(LIBRARY, "ibv_ack_async_event", nothing(JAVA_LONG));
        static final MethodHandle MODIFY_QP =
                link(LIBRARY, "ibv_modify_qp", returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    }

    /** Functions of the C library. */
    private static final class C {

        private static final SymbolLookup LIBRARY = LINKER.defaultLookup();
        static final MethodHandle PPOLL =
                link(
                        LIBRARY,
                        "ppoll",
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                        ERRNO);
        static final MethodHandle EVENTFD =
                link(LIBRARY, "eventfd", returning(JAVA_INT, JAVA_INT, JAVA_INT), ERRNO);
        static final MethodHandle EVENTFD_WRITE =
                link(LIBRARY, "eventfd_write", returning(JAVA_INT, JAVA_INT, JAVA_LONG));
        static final MethodHandle EVENTFD_READ =
                link(LIBRARY, "eventfd_read", returning(JAVA_INT, JAVA_INT, JAVA_LONG), ERRNO);
        static final MethodHandle FCNTL =
                link(
                        LIBRARY,
                        "fcntl",
                        returning(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
                        ERRNO,
                        Linker.Option.firstVariadicArg(2));
        static final MethodHandle CLOSE =
                link(LIBRARY, "close", returning(JAVA_INT, JAVA_INT), ERRNO);
    }

    @Override
    public long getDevices(long count) {
        try {
            return (long) Cm.GET_DEVICES.invokeExact(state, count);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void freeDevices(long devices) {
        try {
            Cm.FREE_DEVICES.invokeExact(devices);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long createEventChannel() {
        try {
            return (long) Cm.CREATE_EVENT_CHANNEL.invokeExact(state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void destroyEventChannel(long channel) {
        try {
            Cm.DESTROY_EVENT_CHANNEL.invokeExact(channel);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int createId(long channel, long id) {
        try {
            return (int) Cm.CREATE_ID.invokeExact(state, channel, id, 0L, PORT_SPACE_TCP);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int destroyId(long id) {
        try {
            return (int) Cm.DESTROY_ID.invokeExact(state, id);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int migrateId(long id, long channel) {
        try {
            return (int) Cm.MIGRATE_ID.invokeExact(state, id, channel);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int setOption(long id, int level, int name, long value, long length) {
        try {
            return (int) Cm.SET_OPTION.invokeExact(state, id, level, name, value, length);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int bindAddr(long id, long address) {
        try {
            return (int) Cm.BIND_ADDR.invokeExact(state, id, address);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int listen(long id, int backlog) {
        try {
            return (int) Cm.LISTEN.invokeExact(state, id, backlog);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int resolveAddr(long id, long address, int millis) {
        try {
            return (int) Cm.RESOLVE_ADDR.invokeExact(state, id, 0L, address, millis);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int resolveRoute(long id, int millis) {
        try {
            return (int) Cm.RESOLVE_ROUTE.invokeExact(state, id, millis);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int createQp(long id, long domain, long attributes) {
        try {
            return (int) Cm.CREATE_QP.invokeExact(state, id, domain, attributes);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void destroyQp(long id) {
        try {
            Cm.DESTROY_QP.invokeExact(id);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int connect(long id, long parameters) {
        try {
            return (int) Cm.CONNECT.invokeExact(state, id, parameters);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int accept(long id, long parameters) {
        try {
            return (int) Cm.ACCEPT.invokeExact(state, id, parameters);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int reject(long id, long privateData, byte length) {
        try {
            return (int) Cm.REJECT.invokeExact(state, id, privateData, length);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int disconnect(long id) {
        try {
            return (int) Cm.DISCONNECT.invokeExact(state, id);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int getCmEvent(long channel, long event) {
        try {
            return (int) Cm.GET_CM_EVENT.invokeExact(state, channel, event);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int ackCmEvent(long event) {
        try {
            return (int) Cm.ACK_CM_EVENT.invokeExact(state, event);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int queryDevice(long context, long attributes) {
        try {
            return (int) Verbs.QUERY_DEVICE.invokeExact(context, attributes);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int queryPort(long context, byte port, long attributes) {
        try {
            return (int) Verbs.QUERY_PORT.invokeExact(context, port, attributes);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long allocPd(long context) {
        try {
            return (long) Verbs.ALLOC_PD.invokeExact(state, context);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int deallocPd(long domain) {
        try {
            return (int) Verbs.DEALLOC_PD.invokeExact(domain);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long regMr(long domain, long address, long length, int access) {
        try {
            return (long) Verbs.REG_MR.invokeExact(state, domain, address, length, access);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int deregMr(long region) {
        try {
            return (int) Verbs.DEREG_MR.invokeExact(region);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long createCompChannel(long context) {
        try {
            return (long) Verbs.CREATE_COMP_CHANNEL.invokeExact(state, context);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int destroyCompChannel(long channel) {
        try {
            return (int) Verbs.DESTROY_COMP_CHANNEL.invokeExact(channel);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long createCq(long context, int entries, long channel, int vector) {
        try {
            return (long) Verbs.CREATE_CQ.invokeExact(state, context, entries, 0L, channel, vector);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int destroyCq(long queue) {
        try {
            return (int) Verbs.DESTROY_CQ.invokeExact(queue);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int getCqEvent(long channel, long queue, long cookie) {
        try {
            return (int) Verbs.GET_CQ_EVENT.invokeExact(state, channel, queue, cookie);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void ackCqEvents(long queue, int count) {
        try {
            Verbs.ACK_CQ_EVENTS.invokeExact(queue, count);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int getAsyncEvent(long context, long event) {
        try {
            return (int) Verbs.GET_ASYNC_EVENT.invokeExact(state, context, event);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void ackAsyncEvent(long event) {
        try {
            Verbs.ACK_ASYNC_EVENT.invokeExact(event);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int modifyQp(long queuePair, long attributes, int mask) {
        try {
            return (int) Verbs.MODIFY_QP.invokeExact(queuePair, attributes, mask);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int ppoll(long fds, long count, long timeout) {
        try {
            return (int) C.PPOLL.invokeExact(state, fds, count, timeout, 0L);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int eventfd(int value, int flags) {
        try {
            return (int) C.EVENTFD.invokeExact(state, value, flags);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int eventfdWrite(int fd, long value) {
        try {
            return (int) C.EVENTFD_WRITE.invokeExact(fd, value);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int eventfdRead(int fd, long value) {
        try {
            return (int) C.EVENTFD_READ.invokeExact(state, fd, value);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int fcntl(int fd, int command, int argument) {
        try {
            return (int) C.FCNTL.invokeExact(state, fd, command, argument);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int close(int fd) {
        try {
            return (int) C.CLOSE.invokeExact(state, fd);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public Operations operations(long context) {
        return new Pointers(context);
    }

    /**
     * Functions that a device has as pointers. The two that make no system call in any device's library may skip
     * a transition.
     */
    private final class Pointers implements Operations {

        private static final MethodHandle POLL_CQ =
                LINKER.downcallHandle(
                        returning(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG),
                        Linker.Option.critical(false));
        private static final MethodHandle REQ_NOTIFY_CQ =
                LINKER.downcallHandle(returning(JAVA_INT, JAVA_LONG, JAVA_INT));
        private static final MethodHandle POST_SEND =
                LINKER.downcallHandle(returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
        private static final MethodHandle POST_RECV =
                LINKER.downcallHandle(
                        returning(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                        Linker.Option.critical(false));
        private static final MethodHandle ALLOC_MW =
                LINKER.downcallHandle(returning(JAVA_LONG, JAVA_LONG, JAVA_INT), ERRNO);
        private static final MethodHandle DEALLOC_MW =
                LINKER.downcallHandle(returning(JAVA_INT, JAVA_LONG));

        private final MemorySegment pollCq;
        private final MemorySegment reqNotifyCq;
        private final MemorySegment postSend;
        private final MemorySegment postRecv;
        private final MemorySegment allocMw;
        private final MemorySegment deallocMw;

        Pointers(long context) {
            pollCq = pointer(context + StructLayouts.CONTEXT_POLL_CQ);
            reqNotifyCq = pointer(context + StructLayouts.CONTEXT_REQ_NOTIFY_CQ);
            postSend = pointer(context + StructLayouts.CONTEXT_POST_SEND);
            postRecv = pointer(context + StructLayouts.CONTEXT_POST_RECV);
            allocMw = pointer(context + StructLayouts.CONTEXT_ALLOC_MW);
            deallocMw = pointer(context + StructLayouts.CONTEXT_DEALLOC_MW);
        }

        private static MemorySegment pointer(long at) {
            return MemorySegment.ofAddress(CMemory.getLong(at));
        }

        @Override
        public int pollCq(long queue, int most, long completions) {
            try {
                return (int) POLL_CQ.invokeExact(pollCq, queue, most, completions);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public int reqNotifyCq(long queue, int solicitedOnly) {
            try {
                return (int) REQ_NOTIFY_CQ.invokeExact(reqNotifyCq, queue, solicitedOnly);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public int postSend(long queuePair, long list, long bad) {
            try {
                return (int) POST_SEND.invokeExact(postSend, queuePair, list, bad);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public int postRecv(long queuePair, long list, long bad) {
            try {
                return (int) POST_RECV.invokeExact(postRecv, queuePair, list, bad);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public long allocMw(long domain, int type) {
            try {
                return (long) ALLOC_MW.invokeExact(allocMw, state, domain, type);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }

        @Override
        public int deallocMw(long window) {
            try {
                return (int) DEALLOC_MW.invokeExact(deallocMw, window);
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }
    }
}
