// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rpcrdma.verbs.ConnectionRequest;

/**
 * A peer's request, answered once, by any thread. Destroying the identifier is all the refusal there is; the connection manager
 * sends the peer a rejection then, without data.
 */
final class DisniConnectionRequest implements ConnectionRequest, CmTarget {

    private static final byte[] NO_DATA = {};

    private final CmEvents events;
    private final RdmaCmId id;
    private final Set<DisniConnectionRequest> pending;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final AtomicBoolean answered = new AtomicBoolean();
    private volatile boolean gone;

    /** @param pending the unanswered requests of the listener */
    DisniConnectionRequest(CmEvents events, RdmaCmId id, Set<DisniConnectionRequest> pending)
            throws IOException {
        this.events = events;
        this.id = id;
        this.pending = pending;
        this.local = Addresses.local(id);
        this.remote = Addresses.remote(id);
        events.target(id, this);
    }

    /** Empty: DiSNI does not show what the peer has sent. */
    @Override
    public byte[] privateData() {
        return NO_DATA;
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** Any event before the answer says that the peer has given up. */
    @Override
    public void happened(EventType event, RdmaCmId subject) {
        gone = true;
    }

    /**
     * Takes the connection over.
     *
     * @throws IOException when it was answered before, or the peer has gone away
     */
    RdmaCmId take() throws IOException {
        if (!answer()) {
            throw new IOException(
                    "The connection request of " + remote + " was answered or withdrawn before");
        }
        if (gone) {
            events.destroy(id);
            throw new IOException(
                    "The peer " + remote + " closed the connection before it was accepted");
        }
        return id;
    }

    /** Refuses. The data is not sent: see {@link org.rpcrdma.verbs.DeviceCapabilities#rejectWithData()}. */
    @Override
    public void reject(byte[] privateData) {
        if (answer()) {
            events.destroy(id);
        }
    }

    private boolean answer() {
        pending.remove(this);
        return answered.compareAndSet(false, true);
    }
}
