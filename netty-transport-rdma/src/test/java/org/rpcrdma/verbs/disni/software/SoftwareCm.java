// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import com.ibm.disni.verbs.RdmaEventChannel;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/** The connection manager. */
final class SoftwareCm extends RdmaCm {

    /** What {@code libdisni} asks for in both directions: as much as the device can. */
    private static final int MAX_READS = 128;

    private static final byte[] NO_DATA = {};

    private final SoftwareDevice device;
    private SoftwareContext context;

    SoftwareCm(SoftwareDevice device) {
        this.device = device;
    }

    /** Made when it is first asked for: DiSNI's objects want their provider to be installed. */
    private synchronized SoftwareContext context() throws IOException {
        if (context == null) {
            context = new SoftwareContext();
        }
        return context;
    }

    private static SoftwareId open(RdmaCmId id) throws IOException {
        if (!id.isOpen()) {
            throw new IOException("Trying to use a closed ID");
        }
        return (SoftwareId) id;
    }

    @Override
    public RdmaEventChannel createEventChannel() throws IOException {
        SoftwareEventChannel channel = new SoftwareEventChannel(device);
        device.made(channel);
        return channel;
    }

    @Override
    public RdmaCmId createId(RdmaEventChannel channel, short portSpace) throws IOException {
        if (!channel.isOpen()) {
            throw new IOException("Trying to create ID with closed channel.");
        }
        return newId((SoftwareEventChannel) channel);
    }

    private SoftwareId newId(SoftwareEventChannel channel) throws IOException {
        SoftwareId id = new SoftwareId(channel);
        device.made(id);
        return id;
    }

    @Override
    public void bindAddr(RdmaCmId id, SocketAddress address) throws IOException {
        SoftwareId mine = open(id);
        InetSocketAddress wanted = (InetSocketAddress) address;
        InetAddress host = wanted.getAddress();
        if (!(host instanceof Inet4Address)) {
            throw new IOException("rdma_bind_addr failed: not an IPv4 address: " + host);
        }
        if (!host.isAnyLocalAddress()) {
            if (!host.isLoopbackAddress() && NetworkInterface.getByInetAddress(host) == null) {
                throw new IOException("j2c::bind: rdma_bind_addr failed: No such device\n");
            }
            mine.device(context());
        }
        mine.bound = wanted;
    }

    @Override
    public void listen(RdmaCmId id, int backlog) throws IOException {
        SoftwareId mine = open(id);
        ListenerHandler handler =
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        requested(mine, request);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        device.provider.problem("Accepting failed: " + cause);
                    }
                };
        mine.listener = device.call(() -> device.context().listen(mine.bound, backlog, handler));
    }

    private void requested(SoftwareId listener, ConnectionRequest request) {
        try {
            SoftwareId id = newId(listener.events);
            id.request = request;
            id.bound = request.localAddress();
            id.remote = request.remoteAddress();
            id.device(context());
            listener.events.add(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, listener, id);
        } catch (IOException e) {
            request.reject(NO_DATA);
        }
    }

    @Override
    public void resolveAddr(
            RdmaCmId id, SocketAddress source, SocketAddress destination, int timeout)
            throws IOException {
        SoftwareId mine = open(id);
        mine.remote = (InetSocketAddress) destination;
        mine.device(context());
        mine.event(EventType.RDMA_CM_EVENT_ADDR_RESOLVED);
    }

    @Override
    public void resolveRoute(RdmaCmId id, int timeout) throws IOException {
        open(id).event(EventType.RDMA_CM_EVENT_ROUTE_RESOLVED);
    }

    @Override
    public IbvQP createQP(RdmaCmId id, IbvPd pd, IbvQPInitAttr attributes) throws IOException {
        SoftwareId mine = open(id);
        if (mine.getVerbs() == null) {
            throw new IOException("rdma_create_qp failed: the ID is not bound to a device");
        }
        SoftwareQueuePair made =
                new SoftwareQueuePair(
                        device,
                        mine,
                        (SoftwareCq) attributes.getSend_cq(),
                        (SoftwareCq) attributes.getRecv_cq());
        QueuePairConfig size =
                new QueuePairConfig(
                        attributes.cap().getMax_send_wr(),
                        attributes.cap().getMax_recv_wr(),
                        MAX_READS,
                        MAX_READS);
        QueuePair queuePair =
                device.call(
                        () ->
                                mine.request == null
                                        ? device.context().createQueuePair(size, made)
                                        : device.context()
                                                .createQueuePair(mine.request, size, made));
        made.is(queuePair);
        mine.queuePair(made);
        return made;
    }

    @Override
    public RdmaCmEvent getCmEvent(RdmaEventChannel channel, int timeout) throws IOException {
        if (!channel.isOpen()) {
            throw new IOException("Trying to get CM event on closed channel.");
        }
        return ((SoftwareEventChannel) channel).next(timeout);
    }

    @Override
    public int ackCmEvent(RdmaCmEvent event) {
        return 0;
    }

    @Override
    public void connect(RdmaCmId id, RdmaConnParam parameters) throws IOException {
        SoftwareId mine = open(id);
        byte[] data = new byte[parameters.getPrivate_data_len() & 0xff];
        for (int i = 0; i < data.length; i++) {
            data[i] = PlatformDependent.getByte(parameters.getPrivate_data() + i);
        }
        mine.awaitsAnswer = true;
        device.execute(() -> mine.queuePair.connect(mine.remote, mine.bound, data));
    }

    /** The private data is not sent: {@code libdisni} has no way to. */
    @Override
    public void accept(RdmaCmId id, RdmaConnParam parameters) throws IOException {
        SoftwareId mine = open(id);
        mine.awaitsAnswer = true;
        device.execute(() -> mine.queuePair.accept());
    }

    @Override
    public int disconnect(RdmaCmId id) throws IOException {
        SoftwareId mine = open(id);
        mine.queuePair.isBroken = true;
        device.execute(() -> mine.queuePair.disconnect());
        return 0;
    }

    @Override
    public int destroyEventChannel(RdmaEventChannel channel) {
        channel.close();
        device.destroyed(channel);
        return 0;
    }

    @Override
    public int destroyCmId(RdmaCmId id) throws IOException {
        SoftwareId mine = open(id);
        if (mine.queuePair != null && mine.queuePair.isOpen()) {
            device.provider.problem("An identifier was destroyed before its queue pair");
        }
        id.close();
        device.destroyed(id);
        if (mine.listener != null) {
            device.call(
                    () -> {
                        mine.listener.close();
                        return null;
                    });
        }
        mine.rejectUnanswered();
        return 0;
    }

    @Override
    public int destroyQP(RdmaCmId id) throws IOException {
        SoftwareId mine = open(id);
        if (mine.queuePair == null || !mine.queuePair.isOpen()) {
            throw new IOException("Trying to destroy an already destroyed QP.");
        }
        if (mine.awaitsAnswer && !mine.events.isTakenByThisThread()) {
            device.provider.problem(
                    "A queue pair was destroyed while another thread may take the answer of its"
                            + " peer");
        }
        mine.queuePair.destroy();
        return 0;
    }

    @Override
    public SocketAddress getSrcAddr(RdmaCmId id) throws IOException {
        SoftwareId mine = open(id);
        if (mine.listener != null) {
            return mine.listener.localAddress();
        }
        SocketAddress known = mine.queuePair == null ? null : mine.queuePair.localAddress();
        return known == null ? mine.bound : known;
    }

    @Override
    public SocketAddress getDstAddr(RdmaCmId id) throws IOException {
        return open(id).remote;
    }

    @Override
    public int destroyEp(RdmaCmId id) throws IOException {
        destroyQP(id);
        return destroyCmId(id);
    }
}
