// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;

/** A bound identifier that takes connection requests. */
final class DisniListener implements Listener, CmTarget {

    private static final byte[] NO_DATA = {};

    private final DisniContext context;
    private final ListenerHandler handler;
    private final RdmaCmId id;
    private final int backlog;
    private final Set<DisniConnectionRequest> pending = ConcurrentHashMap.newKeySet();
    private volatile InetSocketAddress local;
    private volatile boolean closed;

    DisniListener(
            DisniContext context, InetSocketAddress address, int backlog, ListenerHandler handler)
            throws IOException {
        this.context = context;
        this.handler = handler;
        this.backlog = Math.max(backlog, 1);
        this.id = context.events.newId();
        try {
            context.events.target(id, this);
            InetSocketAddress wanted = Addresses.toListen(address);
            NativeError.explain(
                    () -> {
                        id.bindAddr(wanted);
                        id.listen(this.backlog);
                    },
                    reason ->
                            new BindException(
                                    "Cannot listen at "
                                            + wanted
                                            + ": "
                                            + reason
                                            + "; the port has to be free, and the address one of an"
                                            + " RDMA device (see 'rdma link' and 'ip address')"));
            this.local = Addresses.local(id);
        } catch (IOException | RuntimeException e) {
            context.events.destroyNow(id);
            throw e;
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public void happened(EventType event, RdmaCmId connection) {
        if (event != EventType.RDMA_CM_EVENT_CONNECT_REQUEST) {
            if (event == EventType.RDMA_CM_EVENT_DEVICE_REMOVAL) {
                context.later(this::end);
            }
            return;
        }
        DisniConnectionRequest request;
        try {
            request = new DisniConnectionRequest(context.events, connection, pending);
        } catch (IOException e) {
            context.events.destroy(connection);
            context.later(() -> fail(e));
            return;
        }
        if (pending.size() >= backlog || !isForThisPort(request)) {
            request.reject(NO_DATA);
            return;
        }
        pending.add(request);
        context.later(() -> deliver(request));
        if (closed) {
            request.reject(NO_DATA); // close may have come too early to see it
        }
    }

    /** A listener whose identifier was at the same place in memory may have had another port. */
    private boolean isForThisPort(DisniConnectionRequest request) {
        InetSocketAddress known = local;
        return known == null || known.getPort() == request.localAddress().getPort();
    }

    private void deliver(DisniConnectionRequest request) {
        if (closed) {
            request.reject(NO_DATA);
        } else {
            handler.connectionRequested(request);
        }
    }

    private void fail(IOException cause) {
        if (!closed) {
            handler.acceptFailed(cause);
        }
    }

    private void end() {
        if (!closed) {
            handler.ended(new IOException("The RDMA device of " + local + " is gone"));
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        context.remove(this);
        context.events.destroyNow(id);
        List.copyOf(pending).forEach(request -> request.reject(NO_DATA));
    }
}
