// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.util.function.Consumer;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;

/** Send and receive queue of a queue pair, with the handler of their completions. */
final class SendAndReceiveQueues {

    private final SendWorkRequestRing sends;
    private final ReceiveWorkRequestRing receives;
    private final QueuePairHandler handler;
    private final Consumer<Throwable> whenHandlerFails;
    private boolean isClosed;

    /** @param whenHandlerFails called with what the handler throws, while queues are as after the completion */
    SendAndReceiveQueues(
            HardwareContextResources loop,
            QueuePairConfig size,
            int serial,
            QueuePairHandler handler,
            Consumer<Throwable> whenHandlerFails) {
        this.handler = handler;
        this.whenHandlerFails = whenHandlerFails;
        sends =
                new SendWorkRequestRing(
                        loop.device()::address,
                        WorkRequestId.sends(serial),
                        size.sendDepth(),
                        loop.binds(size),
                        loop.capabilities().maxScatterGather(),
                        loop.capabilities().maxReadRanges(),
                        loop::readSinks);
        receives =
                new ReceiveWorkRequestRing(
                        loop.device()::address,
                        WorkRequestId.receives(serial),
                        size.receiveDepth());
    }

    SendWorkRequestRing sends() {
        return sends;
    }

    ReceiveWorkRequestRing receives() {
        return receives;
    }

    /** Whether the device has nothing left to do. */
    boolean areIdle() {
        return sends.isIdle() && receives.isIdle();
    }

    /** How many work requests the device has. */
    int inDevice() {
        return sends.inDevice() + receives.inDevice();
    }

    /**
     * The device has completed a work request of the receive queue.
     *
     * @param status an {@code ibv_wc_status}
     */
    void receiveCompleted(long workId, int status, int length, int invalidatedKey) {
        int position = WorkRequestId.position(workId, receives.head());
        if (receives.tryComplete(position)) {
            report(receives.id(position), status, length, invalidatedKey);
        }
    }

    /**
     * The peer has written, with an immediate that takes the place of a message.
     *
     * @return whether anybody expects such a thing; its receive is flushed otherwise
     */
    boolean acceptWriteWithImmediate(long workId, int length, int immediate) {
        int position = WorkRequestId.position(workId, receives.head());
        if (!receives.tryComplete(position)) {
            return true;
        }
        long number = receives.id(position);
        try {
            if (handler.acceptWriteWithImmediate(number, length, immediate)) {
                return true;
            }
        } catch (Throwable t) {
            whenHandlerFails.accept(t);
            return true;
        }
        report(number, VerbsConstants.FLUSHED, 0, 0);
        return false;
    }

    /**
     * The device has completed a work request of the send queue.
     *
     * @param status an {@code ibv_wc_status}
     */
    void sendCompleted(int position, int status) {
        sends.complete(position, status);
        while (sends.isHeadComplete()) {
            int head = sends.head();
            long number = sends.id(head);
            boolean isSignaled = sends.isSignaled(head);
            boolean isOwn = sends.isOwn(head);
            int said = sends.removeHead();
            if (!isOwn && (isSignaled || said != VerbsConstants.SUCCESS)) {
                report(number, said, 0, 0);
            }
        }
    }

    /** Flushes work requests never posted, and those that the device has not completed. */
    void flushSends() {
        while (!isClosed && !sends.isEmpty()) {
            long number = sends.id(sends.head());
            boolean isOwn = sends.isOwn(sends.head());
            sends.removeHead();
            if (!isOwn) {
                report(number, VerbsConstants.FLUSHED, 0, 0);
            }
        }
    }

    /** As {@link #flushSends}. */
    void flushReceives() {
        while (!isClosed && !receives.isEmpty()) {
            int position = receives.head();
            receives.tryComplete(position);
            report(receives.id(position), VerbsConstants.FLUSHED, 0, 0);
        }
    }

    private void report(long number, int status, int length, int invalidatedKey) {
        try {
            handler.completed(number, VerbsConstants.status(status), length, invalidatedKey);
        } catch (Throwable t) {
            whenHandlerFails.accept(t);
        }
    }

    /** Passes opened work requests of the send queue to the device. */
    void postSends(NativeQueuePair queuePair) throws IOException {
        sends.post(queuePair);
    }

    /** Passes opened work requests of the receive queue to the device. */
    void postReceives(NativeQueuePair queuePair) throws IOException {
        receives.post(queuePair);
    }

    /** Nothing is reported any more. The device must have lost the queue pair. */
    void close() {
        isClosed = true;
        sends.close();
    }
}
