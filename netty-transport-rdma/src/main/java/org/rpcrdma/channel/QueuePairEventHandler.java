// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** Passes the events of a queue pair to the parts of its channel. */
final class QueuePairEventHandler implements QueuePairHandler {

    private final AbstractConnectedRdmaChannel channel;
    private final ConnectionEstablishment start;
    private final ConnectionEndState end;

    QueuePairEventHandler(
            AbstractConnectedRdmaChannel channel,
            ConnectionEstablishment start,
            ConnectionEndState end) {
        this.channel = channel;
        this.start = start;
        this.end = end;
    }

    @Override
    public void connected(byte[] privateData) {
        start.connected(privateData);
    }

    @Override
    public void connectFailed(Throwable cause) {
        start.failed(cause);
    }

    @Override
    public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
        channel.path.completed(id, status, length);
    }

    @Override
    public boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        return channel.path.acceptWriteWithImmediate(id, length, immediate);
    }

    @Override
    public ReceiveMemoryRange receiveMemory(long id, int length) {
        return channel.path.receiveMemory(id, length);
    }

    @Override
    public ReceiveMemoryRange writeMemory(int key, int start, int length) {
        return channel.path.writeMemory(key, start, length);
    }

    @Override
    public long unannounced() {
        return channel.path.unannounced();
    }

    /** Receives are replaced when their messages are delivered. */
    @Override
    public boolean receivesFollow() {
        return channel.mayDeliver() && channel.readPending && channel.path.receivesFollow();
    }

    @Override
    public void disconnected(Throwable cause) {
        end.disconnected(cause);
        try {
            if (end.draining != null) {
                channel.cut();
            } else {
                channel.becomeReady();
            }
        } catch (Throwable t) {
            // No further event ends this channel.
            channel.closeAtOnce();
            throw t;
        }
    }
}
