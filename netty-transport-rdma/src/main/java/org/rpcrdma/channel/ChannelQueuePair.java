// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsContext;

/**
 * The queue pair of one channel, made to connect or of a request: how far it has come, and what is known of both ends.
 * Event loop only; the state, the addresses and what the peer has sent are for any thread.
 */
final class ChannelQueuePair {

    private enum State {
        OPEN,
        /** The queue pair has its size, and what it is made from does not change any more. */
        CREATED,
        ACTIVE,
        CLOSED
    }

    private static final byte[] NO_DATA = {};

    private volatile State state = State.OPEN;

    /** What is to be answered, until there is a queue pair for it. */
    private ConnectionRequest request;

    private QueuePair queuePair;
    private boolean carriesPrivateData;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private volatile byte[] peerPrivateData;

    /**
     * @param request to be answered; {@code null} for a channel that connects
     */
    ChannelQueuePair(ConnectionRequest request) {
        this.request = request;
        if (request != null) {
            localAddress = request.localAddress();
            remoteAddress = request.remoteAddress();
        }
    }

    /** Whether a request is to be answered. */
    boolean isRequested() {
        return request != null;
    }

    /** Whether there is a queue pair. */
    boolean isThere() {
        return queuePair != null;
    }

    // ------------------------------------------------------------------ beginning

    /** A queue pair is about to be made: what it is made from stays as it is. */
    void configured() {
        state = State.CREATED;
    }

    /** Makes a queue pair of the request. When that fails, the request is refused by {@link #free}. */
    QueuePair ofRequest(VerbsContext context, QueuePairConfig size, QueuePairHandler events)
            throws IOException {
        queuePair = context.createQueuePair(request, size, events);
        request = null;
        carriesPrivateData = context.capabilities().privateDataOnAccept();
        return queuePair;
    }

    /** Makes a queue pair that connects. */
    QueuePair toConnect(VerbsContext context, QueuePairConfig size, QueuePairHandler events)
            throws IOException {
        queuePair = context.createQueuePair(size, events);
        carriesPrivateData = context.capabilities().maxPrivateData() > 0;
        return queuePair;
    }

    void bind(InetSocketAddress local) throws IOException {
        localAddress = queuePair.bind(local);
    }

    void accept(byte[] privateData) throws IOException {
        queuePair.accept(toSend(privateData));
    }

    /**
     * @param local where it is to be; {@code null} for where it is bound, or anywhere
     */
    void connect(InetSocketAddress remote, InetSocketAddress local, byte[] privateData)
            throws IOException {
        queuePair.connectTimeout(0); // CONNECT_TIMEOUT_MILLIS is the only limit
        queuePair.connect(remote, local == null ? localAddress : local, toSend(privateData));
    }

    /** Where the device carries none, both ends go by their configuration. */
    private byte[] toSend(byte[] privateData) {
        return carriesPrivateData ? privateData : NO_DATA;
    }

    /**
     * The peer has answered, or has been answered.
     *
     * @param received what the device says that the peer has sent
     * @param assumed what counts where the device carries none
     * @return what counts
     */
    byte[] agreed(byte[] received, byte[] assumed) {
        peerPrivateData = carriesPrivateData ? received : assumed;
        return peerPrivateData;
    }

    /** The connection exists, and so do the addresses of both ends. */
    void connected() {
        localAddress = queuePair.localAddress();
        remoteAddress = queuePair.remoteAddress();
        state = State.ACTIVE;
    }

    // ------------------------------------------------------------------ end

    /** Nothing begins any more; what there is has to be {@linkplain #free given back}. */
    void closed() {
        state = State.CLOSED;
    }

    /** Another one may be made after this one, which was no use and is given back. */
    void reopened() {
        state = State.OPEN;
    }

    /**
     * Refuses a request that has no answer, for its peer would wait; and gives the queue pair back.
     *
     * @return whether there was one: from here on nobody but us touches the memory
     */
    boolean free() {
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

    boolean isActive() {
        return state == State.ACTIVE;
    }

    /** Whether what a queue pair is made from may still change. */
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
