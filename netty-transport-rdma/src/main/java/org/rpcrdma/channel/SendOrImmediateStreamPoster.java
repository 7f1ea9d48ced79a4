// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;

/**
 * Encoding of a stream's messages on the wire, not negotiated but determined by the device: over iWARP a message is a
 * Send, over InfiniBand and RoCE the immediate data of an RDMA Write.
 */
abstract class SendOrImmediateStreamPoster {

    final QueuePair queuePair;

    SendOrImmediateStreamPoster(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    static SendOrImmediateStreamPoster of(DeviceCapabilities device, QueuePair queuePair) {
        return device.writesWithImmediate() ? new Immediates(queuePair) : new Sends(queuePair);
    }

    /** Checks for connection private data, which carries the handshake of a stream. */
    static void checkDevice(DeviceCapabilities device, boolean accepts) {
        if (device.maxPrivateData() < StreamPrivateData.BYTES
                || (accepts && !device.privateDataOnAccept())) {
            throw new UnsupportedOperationException(
                    "a byte stream needs "
                            + StreamPrivateData.BYTES
                            + " bytes of connection private data in both directions, which this"
                            + " RDMA provider does not carry; use another one"
                            + " (-Dorg.rpcrdma.provider=iwarp)");
        }
    }

    /** Bytes of receive memory for each message. */
    abstract int receivedBytes();

    /**
     * Whether a peer may use big-endian table entries: only if the byte order of messages does not depend on the peer.
     */
    static boolean allowsBigEndian(DeviceCapabilities device) {
        return device.writesWithImmediate();
    }

    /**
     * Opens an unsignalled Write, to be followed by a message.
     *
     * @param offset in the memory of the key
     * @param address of the bytes
     */
    abstract void write(long id, long offset, int key, long address, int length, int localKey);

    /**
     * Sends a signalled message after the opened Writes.
     *
     * @param address of the message in little-endian order, untouched until completion
     * @return work requests used in addition to the Writes
     */
    abstract int send(long id, int message, long address, int localKey);

    /** Each message is a Send of 4 bytes. */
    private static final class Sends extends SendOrImmediateStreamPoster {

        Sends(QueuePair queuePair) {
            super(queuePair);
        }

        @Override
        int receivedBytes() {
            return RsocketMessage.BYTES;
        }

        @Override
        void write(long id, long offset, int key, long address, int length, int localKey) {
            queuePair.write(id, 0, offset, key);
            queuePair.gather(address, length, localKey);
        }

        @Override
        int send(long id, int message, long address, int localKey) {
            queuePair.send(id, QueuePair.SIGNALED);
            queuePair.gather(address, RsocketMessage.BYTES, localKey);
            return 1;
        }
    }

    /**
     * Each message is the immediate data of the last Write that it announces, or of an empty Write. So each Write is
     * held back until it is known whether another one follows.
     */
    private static final class Immediates extends SendOrImmediateStreamPoster {

        private boolean isWaiting;
        private long id;
        private long offset;
        private int key;
        private long address;
        private int length;
        private int localKey;

        Immediates(QueuePair queuePair) {
            super(queuePair);
        }

        @Override
        int receivedBytes() {
            return 0;
        }

        @Override
        void write(long writeId, long to, int remoteKey, long from, int bytes, int ofMemory) {
            if (isWaiting) {
                queuePair.write(id, 0, offset, key);
                queuePair.gather(address, length, localKey);
            }
            isWaiting = true;
            id = writeId;
            offset = to;
            key = remoteKey;
            address = from;
            length = bytes;
            localKey = ofMemory;
        }

        @Override
        int send(long messageId, int message, long unused, int unusedKey) {
            if (!isWaiting) {
                queuePair.writeWithImmediate(messageId, QueuePair.SIGNALED, 0, 0, message);
                return 1;
            }
            isWaiting = false;
            queuePair.writeWithImmediate(messageId, QueuePair.SIGNALED, offset, key, message);
            queuePair.gather(address, length, localKey);
            return 0;
        }
    }
}
