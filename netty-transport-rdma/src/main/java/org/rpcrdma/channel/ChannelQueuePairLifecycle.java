// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;

/**
 * Queue pair of one channel with its state, addresses and private data; created to connect, or to accept a request.
 * Event loop only; state, addresses and the peer's private data may be read by any thread.
 */
final class ChannelQueuePairLifecycle {

    enum State {
        OPEN,
        /** The queue pair is created, and its settings are fixed. */
        CREATED,
        ACTIVE,
        CLOSED
    }

    private static final byte[] NO_DATA = {};

    volatile State state = State.OPEN;

    /** Request to answer, until its queue pair is created; {@code null} for none. */
    private ConnectionRequest request;

    private QueuePair queuePair;
    private boolean carriesPrivateData;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private volatile byte[] peerPrivateData;

    /**
     * @param request to be answered; {@code null} for a channel that connects
     */
    ChannelQueuePairLifecycle(ConnectionRequest request) {
        this.request = request;
        if (request != null) {
            localAddress = request.localAddress();
            remoteAddress = request.remoteAddress();
        }
    }

    /** Whether a request is pending. */
    boolean isRequested() {
        return request != null;
    }

    /** Whether there is a queue pair. */
    boolean isThere() {
        return queuePair != null;
    }

    // ------------------------------------------------------------------ beginning

    /** Fixes the settings: a queue pair is about to be created. */
    void configured() {
        state = State.CREATED;
    }

    /** Creates the queue pair of the request. On failure, {@link #releaseQueuePair} refuses the request. */
    QueuePair ofRequest(
            EventLoopVerbsContext context, QueuePairConfig size, QueuePairHandler events)
            throws IOException {
        queuePair = context.createQueuePair(request, size, events);
        request = null;
        carriesPrivateData = context.capabilities().privateDataOnAccept();
        return queuePair;
    }

    /** Creates a queue pair that connects. */
    QueuePair toConnect(
            EventLoopVerbsContext context, QueuePairConfig size, QueuePairHandler events)
            throws IOException {
        queuePair = context.createQueuePair(size, events);
        carriesPrivateData = context.capabilities().maxPrivateData() > 0;
        return queuePair;
    }

    /** Of no effect while there is no queue pair: it is set again with the next one. */
    void trafficClass(int octet) {
        if (queuePair != null) {
            queuePair.trafficClass(octet);
        }
    }

    void bind(InetSocketAddress local) throws IOException {
        localAddress = queuePair.bind(local);
    }

    void accept(byte[] privateData) throws IOException {
        queuePair.accept(toSend(privateData));
    }

    /**
     * @param local address to bind; {@code null} for the bound address, or any
     */
    void connect(InetSocketAddress remote, InetSocketAddress local, byte[] privateData)
            throws IOException {
        queuePair.connectTimeout(0); // CONNECT_TIMEOUT_MILLIS is the only limit
        queuePair.connect(remote, local == null ? localAddress : local, toSend(privateData));
    }

    /** A device without private data sends none: both ends assume the configured data. */
    private byte[] toSend(byte[] privateData) {
        return carriesPrivateData ? privateData : NO_DATA;
    }

    /**
     * Determines the private data of the peer, after either side has answered.
     *
     * @param received private data reported by the device
     * @param assumed used if the device carries none
     * @return the private data of the peer
     */
    byte[] agreed(byte[] received, byte[] assumed) {
        peerPrivateData = carriesPrivateData ? received : assumed;
        return peerPrivateData;
    }

    /** The connection is established, and the addresses of both ends are known. */
    void connected() {
        localAddress = queuePair.localAddress();
        remoteAddress = queuePair.remoteAddress();
        state = State.ACTIVE;
    }

    // ------------------------------------------------------------------ end

    /** No new queue pair after this; the caller must {@linkplain #releaseQueuePair free} the current one. */
    void closed() {
        state = State.CLOSED;
    }

    /** Permits another queue pair after a failed one was freed. */
    void reopened() {
        state = State.OPEN;
    }

    /**
     * Refuses an unanswered request, because its peer would wait, and releases the queue pair.
     *
     * @return whether there was one: neither device nor peer accesses its memory from now on
     */
    boolean releaseQueuePair() {
        if (request != null) {
            request.reject(NO_DATA);
            request = null;
        }
        if (queuePair == null) {
            return false;
        }
        queuePair.close();
        queuePair = null;
        return true;
    }

    // ------------------------------------------------------------------ any thread

    boolean isOpen() {
        return state != State.CLOSED;
    }

    /** Whether the settings may still change. */
    boolean isConfigurable() {
        State now = state;
        return now != State.CREATED && now != State.ACTIVE;
    }

    InetSocketAddress localAddress() {
        return localAddress;
    }

    InetSocketAddress remoteAddress() {
        return remoteAddress;
    }

    /** A copy; {@code null} before there is a connection. */
    byte[] peerPrivateData() {
        byte[] data = peerPrivateData;
        return data == null ? null : data.clone();
    }
}
