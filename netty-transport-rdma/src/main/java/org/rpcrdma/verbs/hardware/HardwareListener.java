// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;

/** A bound identifier that takes connection requests. */
final class HardwareListener implements Listener, CmEventHandler {

    private static final byte[] NO_DATA = {};

    private final Consumer<HardwareListener> onClose;
    private final ListenerHandler handler;
    private final NativeCmId id;
    private final int backlog;
    private final Set<HardwareConnectionRequest> pending = ConcurrentHashMap.newKeySet();
    private InetSocketAddress local;
    private volatile boolean closed;

    HardwareListener(
            NativeEventLoopDevice device,
            Consumer<HardwareListener> onClose,
            InetSocketAddress address,
            int backlog,
            ListenerHandler handler)
            throws IOException {
        this.onClose = onClose;
        this.handler = handler;
        this.backlog = Math.max(backlog, 1);
        this.id = device.newId();
        try {
            id.target(this);
            InetSocketAddress wanted = device.listenAt(address);
            NativeErrorMessages.explain(
                    () -> {
                        id.bind(wanted);
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
            this.local = id.localAddress();
        } catch (IOException | RuntimeException | Error e) {
            id.destroy();
            throw e;
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public void happened(CmEvent event) {
        switch (event.type()) {
            case CONNECT_REQUEST -> requested(event);
            case DEVICE_REMOVAL -> end();
            default -> {}
        }
    }

    private void requested(CmEvent event) {
        HardwareConnectionRequest request;
        try {
            request = new HardwareConnectionRequest(event, pending);
        } catch (IOException e) {
            event.connection().destroy();
            fail(e);
            return;
        } catch (RuntimeException | Error e) {
            event.connection().destroy();
            throw e;
        }
        if (closed || pending.size() >= backlog) {
            request.reject(NO_DATA);
            return;
        }
        try {
            pending.add(request);
            handler.connectionRequested(request);
        } catch (RuntimeException | Error e) {
            // Nobody will answer it, and it would keep its place in the backlog.
            request.reject(NO_DATA);
            throw e;
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
        onClose.accept(this);
        id.destroy();
        List.copyOf(pending).forEach(request -> request.reject(NO_DATA));
    }
}
