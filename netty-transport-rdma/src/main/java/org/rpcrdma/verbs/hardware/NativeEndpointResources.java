// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * Native resources of one end of a connection: its identifier, its queue pair, and the negotiated parameters. It has
 * no state machine.
 */
final class NativeEndpointResources {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(NativeEndpointResources.class);

    private static final byte[] NO_DATA = {};

    private final HardwareContextResources loop;
    private final QueuePairConfig size;

    /** The request of a passive end. */
    private final HardwareConnectionRequest request;

    /** Whether the log has named a traffic class that has no effect. */
    private static final AtomicBoolean REFUSAL_LOGGED = new AtomicBoolean();

    /** -1 while nobody has set it: the library's default. */
    private int trafficClass = -1;

    private NativeCmId id;
    private NativeQueuePair queuePair;
    private ActiveConnect connect;
    private InetSocketAddress local;
    private InetSocketAddress remote;
    private int outboundReads;

    /** @param request that of a passive end, or {@code null} */
    NativeEndpointResources(
            HardwareContextResources loop,
            QueuePairConfig size,
            HardwareConnectionRequest request) {
        this.loop = loop;
        this.size = size;
        this.request = request;
        outboundReads = size.outboundReads();
        if (request != null) {
            id = request.id();
            local = request.localAddress();
            remote = request.remoteAddress();
        }
    }

    /** {@code null} before there is one, and after its end. */
    NativeQueuePair queuePair() {
        return queuePair;
    }

    InetSocketAddress local() {
        return local;
    }

    InetSocketAddress remote() {
        return remote;
    }

    /**
     * Where the library does not tell what was agreed, what was asked for: the device lets further ones wait in
     * any case.
     */
    int outboundReads() {
        return outboundReads;
    }

    // ------------------------------------------------------------------ beginning

    /** Sets the octet now, or as soon as there is an identifier. */
    void trafficClass(int octet) {
        trafficClass = octet;
        if (id != null) {
            applyTrafficClass();
        }
    }

    private void applyTrafficClass() {
        try {
            id.trafficClass(trafficClass);
        } catch (IOException | UnsupportedOperationException e) {
            if (REFUSAL_LOGGED.compareAndSet(false, true)) {
                logger.warn(
                        "IP_TOS {} has no effect on {}: {}",
                        trafficClass,
                        loop.device(),
                        e.getMessage());
            }
        }
    }

    void requireCarried(byte[] privateData) {
        int most = loop.capabilities().maxPrivateData();
        if (privateData.length > most) {
            throw new IllegalArgumentException(
                    "Private data has "
                            + privateData.length
                            + " bytes, but "
                            + loop.device()
                            + " carries "
                            + most
                            + "; see maxPrivateData");
        }
    }

    /** Creates the device's queue pair, once the identifier is bound to a device. */
    void createQueuePair() throws IOException {
        NativeErrorMessages.explain(
                () ->
                        queuePair =
                                id.createQueuePair(
                                        loop.device(),
                                        Math.max(1, size.sendDepth() + loop.binds(size)),
                                        Math.max(1, size.receiveDepth()),
                                        loop.capabilities().maxScatterGather()),
                reason ->
                        new IOException(
                                "The device gives no queue pair for "
                                        + size.sendDepth()
                                        + " sends and "
                                        + size.receiveDepth()
                                        + " receives: "
                                        + reason
                                        + "; try smaller SEND_DEPTH and RECEIVE_DEPTH, fewer"
                                        + " connections, or a higher RLIMIT_MEMLOCK (here "
                                        + RegistrationFailureMessages.limit()
                                        + ')'));
    }

    /** Makes identifier and queue pair of an active end, which a connect is to follow. */
    void open(InetSocketAddress peer, InetSocketAddress from, CmEventHandler target)
            throws IOException {
        remote = peer;
        InetSocketAddress wanted = loop.device().connectFrom(from, peer);
        id = loop.device().newId();
        id.target(target);
        NativeErrorMessages.explain(
                () -> id.bind(wanted),
                reason ->
                        new BindException(
                                "Cannot connect from "
                                        + wanted
                                        + ": "
                                        + reason
                                        + "; the port has to be free, and the address one of "
                                        + loop.device()));
        if (!id.isOn(loop.device())) {
            throw new IOException("The local address " + from + " is not one of " + loop.device());
        }
        if (trafficClass >= 0) {
            applyTrafficClass();
        }
        createQueuePair();
    }

    void connect(byte[] privateData) throws IOException {
        connect =
                new ActiveConnect(
                        id,
                        remote,
                        loop.config().resolveMillis(),
                        new ConnectionParameters(
                                privateData.clone(), size.inboundReads(), size.outboundReads()));
        connect.start();
    }

    /** As {@link ActiveConnect#proceed}. */
    boolean proceed(CmEvent event) throws IOException {
        if (!connect.proceed(event)) {
            return false;
        }
        outboundReads = Math.min(size.outboundReads(), event.outboundReads());
        return true;
    }

    void accept(byte[] privateData) throws IOException {
        int inbound = Math.min(size.inboundReads(), request.event().inboundReads());
        outboundReads = Math.min(size.outboundReads(), request.event().outboundReads());
        NativeErrorMessages.explain(
                () ->
                        id.accept(
                                new ConnectionParameters(
                                        privateData.clone(), inbound, outboundReads)),
                reason ->
                        new ConnectException(
                                "The connection from "
                                        + remote
                                        + " could not be accepted: "
                                        + reason
                                        + "; most likely the peer has given up"));
    }

    /** Private data of the request; empty at an active end. */
    byte[] requestData() {
        return request == null ? NO_DATA : request.event().privateData();
    }

    /** The connection is established, and its addresses are known. */
    void established() {
        try {
            local = id.localAddress();
            remote = id.remoteAddress();
        } catch (IOException e) {
            logger.debug("The addresses of a connection are not known", e);
        }
    }

    // ------------------------------------------------------------------ end

    /** Breaks the queue pair, so that the device flushes it. */
    void disconnect() {
        try {
            id.disconnect();
        } catch (IOException e) {
            logger.debug("Disconnecting failed", e);
        }
    }

    /** Takes the queue pair from the device, if there is one. */
    void destroyQueuePair() {
        NativeQueuePair gone = queuePair;
        queuePair = null;
        if (gone != null) {
            try {
                gone.destroy();
            } catch (IOException e) {
                logger.debug("A queue pair could not be destroyed", e);
            }
        }
    }

    /** Ends the identifier, whose queue pair is destroyed before. */
    void destroy() {
        if (id != null) {
            id.destroy();
        }
    }
}
