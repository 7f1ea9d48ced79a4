// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.CmEventHandler;
import org.rpcrdma.verbs.hardware.ConnectionParameters;
import org.rpcrdma.verbs.hardware.NativeCmId;
import org.rpcrdma.verbs.hardware.NativeEventLoopDevice;
import org.rpcrdma.verbs.hardware.NativeQueuePair;

/**
 * An identifier, whose events the thread of {@link CmEventChannelThread} hands to the event loop that it belongs to.
 */
final class DisniCmId implements NativeCmId, CmThreadEventHandler {

    private static final InternalLogger logger = InternalLoggerFactory.getInstance(DisniCmId.class);

    /** Receives that are not posted in time are waited for, without a limit: credits see to it that they come. */
    private static final byte MOST_RETRIES = 7;

    /** Target of events, and its event loop. */
    private record Owner(DisniEventLoopDevice loop, CmEventHandler target) {}

    private final CmEventChannelThread events;
    private final RdmaCmId id;
    private final AtomicReference<Owner> owner;

    /** The port that it listens at, or 0. */
    private volatile int port;

    private volatile boolean isListener;

    /**
     * Whether the peer's answer may still come: librdmacm takes it on the thread of the events, for the queue pair too.
     */
    private volatile boolean awaitsAnswer;

    /** @param loop to which its events go */
    DisniCmId(DisniEventLoopDevice loop, RdmaCmId id) {
        this.events = loop.events();
        this.id = id;
        this.owner = new AtomicReference<>(new Owner(loop, event -> {}));
        events.target(id, this);
    }

    @Override
    public void target(CmEventHandler target) {
        owner.set(new Owner(owner.get().loop, target));
    }

    @Override
    public void adopt(NativeEventLoopDevice loop, CmEventHandler target) {
        owner.set(new Owner((DisniEventLoopDevice) loop, target));
    }

    @Override
    public boolean isListener() {
        return isListener;
    }

    @Override
    public void happened(EventType event, RdmaCmId subject) {
        DisniEventLoopDevice loop = owner.get().loop;
        DisniCmId connection = null;
        if (event == EventType.RDMA_CM_EVENT_CONNECT_REQUEST) {
            if (!isForThisPort(subject)) {
                events.destroy(subject);
                return;
            }
            connection = new DisniCmId(loop, subject);
        }
        DisniCmId made = connection;
        loop.deliver(() -> tell(loop, event, made));
    }

    @SuppressWarnings("EnumOrdinal") // the numbers of verbs
    private void tell(DisniEventLoopDevice loop, EventType event, DisniCmId connection) {
        Owner now = owner.get();
        if (now.loop != loop) {
            // Adopted meanwhile: the target expects the thread of its own loop.
            now.loop.deliver(() -> tell(now.loop, event, connection));
            return;
        }
        if (event != EventType.RDMA_CM_EVENT_ADDR_RESOLVED
                && event != EventType.RDMA_CM_EVENT_ROUTE_RESOLVED) {
            awaitsAnswer = false;
        }
        now.target.happened(CmEvent.of(CmEvent.Type.of(event.ordinal()), connection));
    }

    /** A listener whose identifier was at the same place in memory may have had another port. */
    private boolean isForThisPort(RdmaCmId subject) {
        try {
            return port == 0 || port == Ipv4SocketAddresses.local(subject).getPort();
        } catch (IOException e) {
            logger.debug("The address of a request is not known", e);
            return false;
        }
    }

    @Override
    public boolean isOn(NativeEventLoopDevice device) throws IOException {
        return ((DisniEventLoopDevice) device).has(id);
    }

    @Override
    public void bind(InetSocketAddress local) throws IOException {
        id.bindAddr(local);
    }

    @Override
    public void listen(int backlog) throws IOException {
        isListener = true;
        id.listen(backlog);
        port = localAddress().getPort();
    }

    @Override
    public void resolveAddress(InetSocketAddress remote, int millis) throws IOException {
        id.resolveAddr(null, remote, millis);
    }

    @Override
    public void resolveRoute(int millis) throws IOException {
        id.resolveRoute(millis);
    }

    @Override
    public NativeQueuePair createQueuePair(
            NativeEventLoopDevice loop, int sends, int receives, int ranges) throws IOException {
        DisniEventLoopDevice device = (DisniEventLoopDevice) loop;
        IbvQPInitAttr attributes = new IbvQPInitAttr();
        attributes.setQp_type(IbvQP.IBV_QPT_RC);
        attributes.setSend_cq(device.queue());
        attributes.setRecv_cq(device.queue());
        attributes.cap().setMax_send_wr(sends);
        attributes.cap().setMax_recv_wr(receives);
        attributes.cap().setMax_send_sge(ranges);
        attributes.cap().setMax_recv_sge(1);
        IbvQP made = id.createQP(device.domain(), attributes);
        try {
            return new DisniNativeQueuePair(this, device.path(), made);
        } catch (Throwable t) {
            id.destroyQP(); // nobody else knows it
            throw t;
        }
    }

    /** The numbers of Reads are not passed on: {@code libdisni} asks for the device's limit in both directions. */
    private static RdmaConnParam parameters() throws IOException {
        RdmaConnParam parameters = new RdmaConnParam();
        parameters.setRetry_count(MOST_RETRIES);
        parameters.setRnr_retry_count(MOST_RETRIES);
        return parameters;
    }

    @Override
    public void connect(ConnectionParameters parameters) throws IOException {
        awaitsAnswer = true;
        id.connect(parameters());
    }

    @Override
    public void accept(ConnectionParameters parameters) throws IOException {
        awaitsAnswer = true;
        id.accept(parameters());
    }

    /** To destroy it is all the refusal there is: see {@link org.rpcrdma.verbs.DeviceCapabilities#rejectWithData()}. */
    @Override
    public void reject(byte[] privateData) {}

    @Override
    public void disconnect() throws IOException {
        id.disconnect();
    }

    @Override
    public InetSocketAddress localAddress() throws IOException {
        return Ipv4SocketAddresses.local(id);
    }

    @Override
    public InetSocketAddress remoteAddress() throws IOException {
        return Ipv4SocketAddresses.remote(id);
    }

    void destroyQueuePair() throws IOException {
        if (awaitsAnswer) {
            events.betweenEvents(
                    () -> {
                        try {
                            id.destroyQP();
                        } catch (IOException e) {
                            logger.debug("A queue pair could not be destroyed", e);
                        }
                    });
        } else {
            id.destroyQP();
        }
    }

    @Override
    public void destroy() {
        if (isListener) {
            events.destroyNow(id);
        } else {
            events.destroy(id);
        }
    }
}
