// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;

/**
 * Queue pair: posts work requests, exposes memory and reports completions. {@link HardwareConnectionStateMachine} has
 * the states of its connection.
 */
final class HardwareQueuePair
        implements QueuePair,
                HardwareConnectionStateMachine.Owner,
                WindowBinder,
                CompletionQueue.Target,
                HardwareContextResources.ReceiveBatch {

    /** Maker of queue pairs, which forgets those that are closed. */
    interface Owner {

        /**
         * A queue pair is closed.
         *
         * @param left how many work requests the device had, which may be in the completion queue as flushed
         */
        void closed(HardwareQueuePair queuePair, int left);
    }

    /** Time limit of operations that take microseconds on a working device. */
    private static final long UNBIND_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final HardwareContextResources loop;
    private final CompletionQueue completions;
    private final Owner owner;
    private final QueuePairConfig size;
    private final int serial;
    private final NativeEndpointResources end;
    private final HardwareConnectionStateMachine connection;
    private final SendAndReceiveQueues work;
    private final SendWorkRequestRing sends;
    private final QueuePairMemoryExposer exposures;

    private boolean hasGathered;

    /**
     * @param serial never used before in this context
     * @param request that of a passive end, or {@code null}
     */
    HardwareQueuePair(
            HardwareContextResources loop,
            CompletionQueue completions,
            Owner owner,
            QueuePairConfig size,
            int serial,
            QueuePairHandler handler,
            HardwareConnectionRequest request) {
        this.loop = loop;
        this.completions = completions;
        this.owner = owner;
        this.size = size;
        this.serial = serial;
        Objects.requireNonNull(handler, "handler");
        end = new NativeEndpointResources(loop, size, request);
        work =
                new SendAndReceiveQueues(
                        loop, size, serial, handler, t -> connection().handlerFailed(t));
        sends = work.sends();
        exposures = new QueuePairMemoryExposer(loop.registrations(), loop.windows(), this);
        connection =
                new HardwareConnectionStateMachine(loop, handler, end, work, this, request != null);
    }

    int serial() {
        return serial;
    }

    HardwareConnectionStateMachine connection() {
        return connection;
    }

    QueuePairConfig size() {
        return size;
    }

    // ------------------------------------------------------------------ beginning

    /** As {@link NativeEndpointResources#createQueuePair}. */
    void createNative() throws IOException {
        end.createQueuePair();
    }

    @Override
    public void connect(InetSocketAddress peer, InetSocketAddress from, byte[] privateData) {
        connection.connect(peer, from, privateData);
    }

    @Override
    public void trafficClass(int octet) {
        end.trafficClass(octet);
    }

    @Override
    public void accept(byte[] privateData) {
        connection.accept(privateData);
    }

    @Override
    public InetSocketAddress localAddress() {
        return end.local();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return end.remote();
    }

    // ------------------------------------------------------------------ work

    @Override
    public void postReceive(long number, long address, int length, int localKey) {
        work.receives().add(number, address, length, localKey);
        if (!hasGathered) {
            hasGathered = true;
            loop.hasReceives(this);
        }
    }

    /** Hands gathered receives to the device; before anything is sent that tells the peer of them. */
    @Override
    public void postGathered() {
        hasGathered = false;
        if (connection.isEnded()) {
            work.flushReceives();
            return;
        }
        // Without a device's queue pair connect posts them.
        if (!connection.takesReceives()) {
            return;
        }
        try {
            work.postReceives(end.queuePair());
        } catch (IOException e) {
            connection.broken("Receives cannot be posted", e);
        }
    }

    @Override
    public void send(long number, int flags) {
        sends.open(number, VerbsConstants.SEND, flags, 0, 0);
    }

    @Override
    public void sendWithInvalidate(long number, int flags, int key) {
        sends.open(number, VerbsConstants.SEND_WITH_INVALIDATE, flags, 0, key);
    }

    @Override
    public void write(long number, int flags, long address, int key) {
        sends.open(number, VerbsConstants.WRITE, flags, address, key);
    }

    @Override
    public void writeWithImmediate(long number, int flags, long address, int key, int immediate) {
        if (!loop.capabilities().writesWithImmediate()) {
            QueuePair.super.writeWithImmediate(number, flags, address, key, immediate);
        }
        sends.openWithImmediate(number, flags, address, key, immediate);
    }

    @Override
    public void read(long number, int flags, long address, int key) {
        sends.open(number, VerbsConstants.READ, flags, address, key);
    }

    @Override
    public void gather(long address, int length, int localKey) {
        sends.gather(address, length, localKey);
    }

    @Override
    public void doorbell() {
        if (connection.isOpen()) {
            if (hasGathered) {
                postGathered();
            }
            postSends();
        } else if (connection.isEnded()) {
            loop.later(work::flushSends);
        }
    }

    private void postSends() {
        try {
            work.postSends(end.queuePair());
        } catch (IOException e) {
            connection.broken("Work requests cannot be posted", e);
        }
    }

    @Override
    public void opened() {
        doorbell();
    }

    @Override
    public void completed(long workId, int status, int length, int invalidatedKey) {
        if (!connection.acceptCompletion(status)) {
            return;
        }
        if (status != VerbsConstants.SUCCESS) {
            connection.failed(status);
        }
        if (WorkRequestId.isReceive(workId)) {
            if (invalidatedKey != 0) {
                exposures.invalidated(invalidatedKey);
            }
            work.receiveCompleted(workId, status, length, invalidatedKey);
        } else {
            work.sendCompleted(WorkRequestId.position(workId, sends.head()), status);
        }
        connection.proceedToEnd();
    }

    @Override
    public void written(long workId, int length, int immediate) {
        if (!connection.acceptCompletion(VerbsConstants.SUCCESS)) {
            return;
        }
        if (!work.acceptWriteWithImmediate(workId, length, immediate)) {
            connection.unexpected("an RDMA Write with Immediate");
        }
        connection.proceedToEnd();
    }

    @Override
    public void failed(Throwable cause) {
        connection.eventLost(cause);
    }

    // ------------------------------------------------------------------ memory

    @Override
    public int expose(MemoryRegion region, long address, int length, int access) {
        if (!(region instanceof RegisteredMemoryRegion mine) || !mine.isOf(loop.registrations())) {
            throw new IllegalArgumentException(
                    "The region is not registered with the context of this queue pair");
        }
        if (connection.isClosed()) {
            throw new IllegalStateException("expose was called on a queue pair that is CLOSED");
        }
        return exposures.expose(mine, address, length, access);
    }

    @Override
    public long exposedOffset(int key) {
        return exposures.offset(key);
    }

    @Override
    public boolean isExposed(int key) {
        return exposures.contains(key);
    }

    @Override
    public void invalidate(int key) {
        exposures.invalidate(key);
    }

    @Override
    public boolean canBind() {
        return connection.isOpen();
    }

    @Override
    public void bind(
            NativeWindow window, NativeRegion registration, long address, int length, int access) {
        if (!sends.hasOwnRoom()) {
            throw new IllegalStateException(
                    "Too many memory windows are bound at a time for a send queue of "
                            + size.sendDepth()
                            + " work requests; raise QueuePairConfig.sendDepth");
        }
        sends.bind(
                window.pointer(),
                window.nextKey(),
                registration.pointer(),
                address,
                length,
                access);
        postSends();
        window.bound();
    }

    /** Only if no other work is in flight on this queue pair, which would delay this request. */
    @Override
    public boolean tryUnbind(NativeWindow window) {
        if (!loop.device().invalidatesWindows() || !connection.isOpen() || !sends.isEmpty()) {
            return false;
        }
        sends.invalidate(window.key());
        long workId = sends.lastWorkId();
        postSends();
        if (!connection.isOpen()) {
            return false;
        }
        int status;
        try {
            status = completions.await(workId, UNBIND_NANOS);
        } catch (IOException e) {
            connection.broken("A memory window cannot be invalidated", e);
            return false;
        }
        if (status == CompletionQueue.NONE) {
            connection.broken(
                    "A memory window cannot be invalidated", new IOException("the device is late"));
            return false;
        }
        work.sendCompleted(sends.head(), status);
        if (status != VerbsConstants.SUCCESS) {
            connection.failed(status);
        }
        return status == VerbsConstants.SUCCESS;
    }

    @Override
    public int outboundReads() {
        return end.outboundReads();
    }

    // ------------------------------------------------------------------ end

    @Override
    public void disconnect() {
        connection.disconnect();
    }

    @Override
    public void queuePairEnds() {
        exposures.clearWindows();
    }

    @Override
    public void close() {
        if (connection.isClosed()) {
            return;
        }
        connection.close();
        // Its flushes are not awaited: most devices leave them in the queue.
        int left = work.inDevice();
        work.close();
        exposures.clear();
        end.destroy();
        loop.remove(this);
        owner.closed(this, left);
    }
}
