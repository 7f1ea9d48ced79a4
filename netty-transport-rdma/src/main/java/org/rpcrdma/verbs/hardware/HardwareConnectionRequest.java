// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.rpcrdma.verbs.ConnectionRequest;

/** A peer's request, answered once, by any thread. */
final class HardwareConnectionRequest implements ConnectionRequest, CmEventHandler {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HardwareConnectionRequest.class);

    private final NativeCmId id;
    private final CmEvent event;
    private final Set<HardwareConnectionRequest> pending;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final AtomicBoolean answered = new AtomicBoolean();

    /** Target that has taken over the connection, possibly on another event loop. */
    private volatile Consumer<CmEvent> successor;

    private volatile boolean gone;

    /** @param pending the unanswered requests of the listener */
    HardwareConnectionRequest(CmEvent event, Set<HardwareConnectionRequest> pending)
            throws IOException {
        this.event = event;
        this.id = event.connection();
        this.pending = pending;
        this.local = id.localAddress();
        this.remote = id.remoteAddress();
        id.target(this);
    }

    @Override
    public byte[] privateData() {
        return event.privateData().clone();
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** Read depths requested by the peer. */
    CmEvent event() {
        return event;
    }

    NativeCmId id() {
        return id;
    }

    /**
     * Any event before the answer says that the peer has given up. One that was under way when it was given is for
     * the successor.
     */
    @Override
    public void happened(CmEvent late) {
        gone = true;
        Consumer<CmEvent> taker = successor;
        if (taker != null) {
            taker.accept(late);
        }
    }

    /**
     * Takes over the connection.
     *
     * @throws IOException when it was answered before
     */
    void take() throws IOException {
        if (!tryAnswer()) {
            throw new IOException(
                    "The connection request of " + remote + " was answered or withdrawn before");
        }
    }

    /**
     * Hands the events of the connection to its new owner.
     *
     * @param onOwnLoop takes events on the thread of that event loop
     * @param elsewhere takes those that the thread of the listener still gets
     * @throws IOException when the peer has gone away
     */
    void handTo(NativeEventLoopDevice loop, CmEventHandler onOwnLoop, Consumer<CmEvent> elsewhere)
            throws IOException {
        successor = elsewhere;
        id.adopt(loop, onOwnLoop);
        if (gone) {
            throw new IOException(
                    "The peer " + remote + " closed the connection before it was accepted");
        }
    }

    /**
     * Refuses. The connection manager does it by itself, without data, for an identifier that is destroyed unanswered.
     */
    @Override
    public void reject(byte[] privateData) {
        if (tryAnswer()) {
            try {
                id.reject(privateData);
            } catch (IOException e) {
                logger.debug("A rejection could not be sent", e);
            } finally {
                id.destroy();
            }
        }
    }

    private boolean tryAnswer() {
        pending.remove(this);
        return answered.compareAndSet(false, true);
    }
}
