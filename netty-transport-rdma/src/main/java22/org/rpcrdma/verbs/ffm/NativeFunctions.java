// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

/**
 * The functions of libibverbs, librdmacm and the C library that are needed, with pointers as longs. Their names are
 * those of C without prefix and with capitals for underlines; what they do and return is in the manual pages.
 *
 * <p>Belongs to one thread: {@link #errno()} is that of its last call.
 */
interface NativeFunctions {

    /** Why the last call has failed that says so by -1 or a null pointer. */
    int errno();

    // ------------------------------------------------------------------ librdmacm

    /** {@code rdma_get_devices}: contexts that librdmacm has opened, as an array of pointers that ends with 0. */
    long getDevices(long count);

    /** {@code rdma_free_devices}. */
    void freeDevices(long devices);

    /** {@code rdma_create_event_channel}. */
    long createEventChannel();

    /** {@code rdma_destroy_event_channel}. */
    void destroyEventChannel(long channel);

    /** {@code rdma_create_id}, in the port space of TCP. */
    int createId(long channel, long id);

    /** {@code rdma_destroy_id}. */
    int destroyId(long id);

    /** {@code rdma_migrate_id}. */
    int migrateId(long id, long channel);

    /** {@code rdma_set_option}. */
    int setOption(long id, int level, int name, long value, long length);

    /** {@code rdma_bind_addr}. */
    int bindAddr(long id, long address);

    /** {@code rdma_listen}. */
    int listen(long id, int backlog);

    /** {@code rdma_resolve_addr}, from the address that it is bound to. */
    int resolveAddr(long id, long address, int millis);

    /** {@code rdma_resolve_route}. */
    int resolveRoute(long id, int millis);

    /** {@code rdma_create_qp}. */
    int createQp(long id, long domain, long attributes);

    /** {@code rdma_destroy_qp}. */
    void destroyQp(long id);

    /** {@code rdma_connect}. */
    int connect(long id, long parameters);

    /** {@code rdma_accept}. */
    int accept(long id, long parameters);

    /** {@code rdma_reject}. */
    int reject(long id, long privateData, byte length);

    /** {@code rdma_disconnect}. */
    int disconnect(long id);

    /** {@code rdma_get_cm_event}. */
    int getCmEvent(long channel, long event);

    /** {@code rdma_ack_cm_event}. */
    int ackCmEvent(long event);

    // ------------------------------------------------------------------ libibverbs

    /** {@code ibv_query_device}. */
    int queryDevice(long context, long attributes);

    /** {@code ibv_query_port}. */
    int queryPort(long context, byte port, long attributes);

    /** {@code ibv_alloc_pd}. */
    long allocPd(long context);

    /** {@code ibv_dealloc_pd}. */
    int deallocPd(long domain);

    /** {@code ibv_reg_mr}. */
    long regMr(long domain, long address, long length, int access);

    /** {@code ibv_dereg_mr}. */
    int deregMr(long region);

    /** {@code ibv_create_comp_channel}. */
    long createCompChannel(long context);

    /** {@code ibv_destroy_comp_channel}. */
    int destroyCompChannel(long channel);

    /** {@code ibv_create_cq}. */
    long createCq(long context, int entries, long channel, int vector);

    /** {@code ibv_destroy_cq}. */
    int destroyCq(long queue);

    /** {@code ibv_get_cq_event}. */
    int getCqEvent(long channel, long queue, long cookie);

    /** {@code ibv_ack_cq_events}. */
    void ackCqEvents(long queue, int count);

    /** {@code ibv_get_async_event}. */
    int getAsyncEvent(long context, long event);

    /** {@code ibv_ack_async_event}. */
    void ackAsyncEvent(long event);

    /** {@code ibv_modify_qp}. */
    int modifyQp(long queuePair, long attributes, int mask);

    /** Those functions of a device that are inline in C: pointers in its context. */
    Operations operations(long context);

    // ------------------------------------------------------------------ libc

    /** {@code ppoll}, with no signals to mask. */
    int ppoll(long fds, long count, long timeout);

    /** {@code eventfd}. */
    int eventfd(int value, int flags);

    /** {@code eventfd_write}. May be called by any thread, and does not touch {@link #errno()}. */
    int eventfdWrite(int fd, long value);

    /** {@code eventfd_read}. */
    int eventfdRead(int fd, long value);

    /** {@code fcntl} with F_GETFL or F_SETFL. */
    int fcntl(int fd, int command, int argument);

    /** {@code close}. */
    int close(int fd);

    /** The functions of a device. A result that is not 0 is an errno, from some libraries negative. */
    interface Operations {

        /** {@code ibv_poll_cq}: how many completions it has written, or negative. */
        int pollCq(long queue, int most, long completions);

        /** {@code ibv_req_notify_cq}. */
        int reqNotifyCq(long queue, int solicitedOnly);

        /** {@code ibv_post_send}. */
        int postSend(long queuePair, long list, long bad);

        /** {@code ibv_post_recv}. */
        int postRecv(long queuePair, long list, long bad);

        /** {@code ibv_alloc_mw}; its failure is a null pointer and {@link NativeFunctions#errno()}. */
        long allocMw(long domain, int type);

        /** {@code ibv_dealloc_mw}. */
        int deallocMw(long window);
    }
}
