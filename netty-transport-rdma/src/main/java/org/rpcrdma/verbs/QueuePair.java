// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * One end of a connection.
 *
 * <p>A work request is opened by {@link #send}, {@link #write}, {@link #read} and the like, receives its memory by
 * {@link #gather}, and is passed to the device with all others by {@link #doorbell()}. All parameters are primitive, to
 * avoid allocation. Do not access memory of a work request before its completion. Work requests of the send queue
 * complete in the order in which they were posted; an unsignalled one completes unseen, together with the next
 * signalled one. Failures are always reported.
 *
 * <p>After {@link #disconnect()}, or when the connection ends by itself, every posted work request completes, with
 * {@link WorkStatus#FLUSHED} if it was not carried out, before {@link QueuePairHandler#disconnected} is called.
 */
public interface QueuePair {

    /** Flag: report the completion. */
    int SIGNALED = 1;

    /** Flag: do not start before all earlier RDMA Reads of this queue pair are complete. */
    int FENCE = 2;

    /** Flag: ask the peer for a solicited event (RFC 5040, 5.3). */
    int SOLICITED = 4;

    /** Access: the peer may read. */
    int REMOTE_READ = 1;

    /** Access: the peer may write. */
    int REMOTE_WRITE = 2;

    /**
     * Access flag, added to one of the others: permits a key of the whole region, with all rights and for all peers, if
     * a separate key would cost a registration. Such a key is the same for all ranges of the region, and valid for the
     * queue pair until invalidated once for each range; the peer's access ends with the region.
     */
    int SHARED = 4;

    /**
     * Binds this end now, so that errors of the address are reported before {@link #connect}, which takes the address
     * again. No effect on a device that binds in connect.
     *
     * @param local the address to bind to
     * @return the address, with the port that was chosen if the device has chosen one
     * @throws IOException when the address cannot be bound
     */
    default InetSocketAddress bind(InetSocketAddress local) throws IOException {
        return local;
    }

    /**
     * Sets the time-out of {@link #connect}, if the device has one that can be changed.
     *
     * @param millis 0 for no limit, because the caller has one
     */
    default void connectTimeout(long millis) {}

    /**
     * Sets the octet of the IP header with DSCP (RFC 2474) and ECN: now, or when there is a connection. A device that
     * has no such setting says so once in a process.
     *
     * @param octet 0 to 255
     */
    void trafficClass(int octet);

    /**
     * Connects. The outcome is reported by {@link QueuePairHandler#connected} or {@link
     * QueuePairHandler#connectFailed}.
     *
     * @param remote the address of the peer
     * @param local the address to bind to, or {@code null}
     * @param privateData carried to the peer with the request, at most {@link DeviceCapabilities#maxPrivateData()}
     * @throws IllegalArgumentException when the private data is longer; the queue pair is as before
     */
    void connect(InetSocketAddress remote, InetSocketAddress local, byte[] privateData);

    /**
     * Answers the connection request that this queue pair was made from; {@code connected} follows.
     *
     * @param privateData carried to the peer with the answer, at most {@link DeviceCapabilities#maxPrivateData()}
     * @throws IllegalArgumentException when the private data is longer; the request still waits for its answer
     */
    void accept(byte[] privateData);

    /** {@return the local address, or {@code null} before it is known} */
    InetSocketAddress localAddress();

    /** {@return the peer's address, or {@code null} before it is known} */
    InetSocketAddress remoteAddress();

    /**
     * Posts a receive: memory for one message of the peer. May be called before the connection exists. Implementations
     * may batch receives until the next {@link #connect}, {@link #accept}, {@link #doorbell()}, {@link
     * EventLoopVerbsContext#poll} or {@link EventLoopVerbsContext#await}, and post them before any work of this end.
     *
     * @param id comes back with the completion
     * @param address of the first byte, as given when the region was registered
     * @param length in bytes
     * @param localKey of the region that the range is in
     */
    void postReceive(long id, long address, int length, int localKey);

    /**
     * Posts a receive without memory: a promise to take one message. The device asks for memory when the message
     * arrives, by {@link QueuePairHandler#receiveMemory}.
     *
     * @param id comes back with the completion
     * @param length the most bytes of the message; shorter memory on arrival is a stricter limit
     * @throws UnsupportedOperationException without {@link DeviceCapabilities#receivesWithoutMemory()}
     */
    default void postReceive(long id, int length) {
        throw new UnsupportedOperationException(
                "this device needs the memory of a receive at once");
    }

    /**
     * Posts receives that are alike, as so many calls of {@link #postReceive(long, int)} do.
     *
     * @param count how many, from 1
     * @param id comes back with each completion
     * @param length the most bytes of each message
     * @throws UnsupportedOperationException without {@link DeviceCapabilities#receivesWithoutMemory()}
     */
    default void postReceives(int count, long id, int length) {
        for (int i = 0; i < count; i++) {
            postReceive(id, length);
        }
    }

    /**
     * Opens a Send.
     *
     * @param id comes back with the completion
     * @param flags {@link #SIGNALED} and others of this interface, or 0
     */
    void send(long id, int flags);

    /**
     * Opens a Send with Invalidate of a key that the peer has exposed to this end.
     *
     * @param id comes back with the completion
     * @param flags {@link #SIGNALED} and others of this interface, or 0
     * @param remoteKey the peer's handle, an unsigned 32-bit number
     */
    void sendWithInvalidate(long id, int flags, int remoteKey);

    /**
     * Opens an RDMA Write to the peer's memory.
     *
     * @param id comes back with the completion
     * @param flags {@link #SIGNALED} and others of this interface, or 0
     * @param remoteAddress the peer's offset, an unsigned 64-bit number
     * @param remoteKey the peer's handle, an unsigned 32-bit number
     */
    void write(long id, int flags, long remoteAddress, int remoteKey);

    /**
     * Opens an RDMA Write to the peer's memory that also consumes a receive of the peer and passes a number to {@link
     * QueuePairHandler#acceptWriteWithImmediate}. Without gathered memory, offset and key are ignored.
     *
     * @param id comes back with the completion
     * @param flags {@link #SIGNALED} and others of this interface, or 0
     * @param remoteAddress the peer's offset, an unsigned 64-bit number
     * @param remoteKey the peer's handle, an unsigned 32-bit number
     * @param immediate the same number at both ends: it crosses the wire in big-endian order
     * @throws UnsupportedOperationException without {@link DeviceCapabilities#writesWithImmediate()}
     */
    default void writeWithImmediate(
            long id, int flags, long remoteAddress, int remoteKey, int immediate) {
        throw new UnsupportedOperationException(
                "this device has no RDMA Write with Immediate; see writesWithImmediate");
    }

    /**
     * Opens an RDMA Read from the peer's memory. Its length is that of all gathered ranges.
     *
     * @param id comes back with the completion
     * @param flags {@link #SIGNALED} and others of this interface, or 0
     * @param remoteAddress the peer's offset, an unsigned 64-bit number
     * @param remoteKey the peer's handle, an unsigned 32-bit number
     * @throws IllegalStateException when the agreed number of outstanding Reads is 0
     */
    void read(long id, int flags, long remoteAddress, int remoteKey);

    /**
     * Adds a range of local memory to the work request opened last: its source, or the sink of a Read.
     *
     * @param address of the first byte, as given when the region was registered
     * @param length in bytes
     * @param localKey of the region that the range is in
     */
    void gather(long address, int length, int localKey);

    /** Hands all opened work requests to the device. */
    void doorbell();

    /**
     * Exposes an exact range of registered memory to the peer of this queue pair only, under a new, unpredictable key.
     * A device may fall short of that: see {@link DeviceCapabilities#exactExposure()} and {@link
     * DeviceCapabilities#keyPerConnection()}.
     *
     * @param region that the range is in
     * @param address of the first byte, as given when the region was registered
     * @param length in bytes
     * @param access {@link #REMOTE_READ} or {@link #REMOTE_WRITE}, optionally with {@link #SHARED}
     * @return the key to advertise; the offset that goes with it is {@link #exposedOffset}
     * @throws IllegalStateException when the device has no key left
     */
    int expose(MemoryRegion region, long address, int length, int access);

    /**
     * Exposes a range that has no memory to this peer, under a fresh, unpredictable key. The peer fills it by RDMA
     * Writes, from its first byte to its last one and each byte once: one that does not begin where the last one has
     * ended is refused as if it were outside. The device asks for memory as the bytes arrive, by {@link
     * QueuePairHandler#writeMemory}.
     *
     * @param length in bytes, from 1
     * @return the key to advertise; the offset that goes with it is {@link #exposedOffset}
     * @throws IllegalStateException when the device has no key left
     * @throws UnsupportedOperationException without {@link DeviceCapabilities#exposesWithoutMemory()}
     */
    default int expose(int length) {
        throw new UnsupportedOperationException(
                "this device needs the memory of an exposed range at once");
    }

    /**
     * {@return the offset of the first exposed byte, as the peer has to name it; for a {@link #SHARED} key that of the
     * range which was exposed last}
     *
     * @param key from {@link #expose}
     */
    long exposedOffset(int key);

    /**
     * {@return whether the key is valid: exposed and not invalidated since, by either side}
     *
     * @param key from {@link #expose}
     */
    boolean isExposed(int key);

    /**
     * Ends the peer's access before it returns, also for placements that are under way. A key that is not valid any
     * more, because the peer has invalidated it, is left alone.
     *
     * @param key from {@link #expose}
     */
    void invalidate(int key);

    /** {@return the agreed number of Reads that may be outstanding here (ORD); valid once connected} */
    int outboundReads();

    /**
     * Has the device look whether the peer is still there while nothing is sent or received; one that is not ends the
     * connection as any break does. Only while it exists.
     *
     * @param idleSeconds without traffic until the device looks, 1 to 32767; it knows some time later
     * @throws UnsupportedOperationException without {@link DeviceCapabilities#keepAlive()}
     */
    default void keepAlive(int idleSeconds) {
        throw new UnsupportedOperationException(
                "this device does not look for idle peers by itself; see keepAlive");
    }

    /**
     * {@return the bytes of Read Responses that have arrived on this connection, so that a Read that goes on slowly can
     * be told from one that was not answered; always 0 where the device does not tell before a Read is complete}
     */
    default long readBytes() {
        return 0;
    }

    /** Ends the connection in an orderly way: what the device has accepted is sent, the rest is flushed. */
    void disconnect();

    /**
     * Frees the queue pair. A connection that still exists ends: what is complete still arrives, work that is still
     * posted is dropped without a completion, and nothing more is received. The peer's access to all exposed memory
     * ends. No handler is called any more.
     */
    void close();
}
