// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.collection.LongObjectHashMap;
import io.netty.util.collection.LongObjectMap;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.CmEventHandler;
import org.rpcrdma.verbs.hardware.ConnectionErrorGuard;

/**
 * The connection events of one event loop: copies what librdmacm has, acknowledges it, and tells whoever it is for.
 * Belongs to the thread of the loop.
 */
final class CmEventDispatcher {

    private record Known(FfmCmId id, CmEventHandler target) {}

    private final FfmEventLoopDevice loop;
    private final FfmLocalDevice device;

    /** By the address of the identifier. */
    private final LongObjectMap<Known> known = new LongObjectHashMap<>();

    CmEventDispatcher(FfmEventLoopDevice loop, FfmLocalDevice device) {
        this.loop = loop;
        this.device = device;
    }

    void target(FfmCmId id, CmEventHandler target) {
        known.put(id.pointer(), new Known(id, target));
    }

    /** An identifier is destroyed, or of another loop now. At its address there may be a new one. */
    void forget(long pointer, FfmCmId id) {
        Known entry = known.get(pointer);
        if (entry != null && entry.id == id) {
            known.remove(pointer);
        }
    }

    /** Tells of the event at that address, which is acknowledged before. */
    void deliver(long at) {
        CmEvent.Type type = CmEvent.Type.of(CMemory.getInt(at + StructLayouts.EVENT_TYPE));
        int status = CMemory.getInt(at + StructLayouts.EVENT_STATUS);
        long id = CMemory.getLong(at + StructLayouts.EVENT_ID);
        boolean isRequest = type == CmEvent.Type.CONNECT_REQUEST;
        long subject = isRequest ? CMemory.getLong(at + StructLayouts.EVENT_LISTENER) : id;
        int inbound = CMemory.getUnsignedByte(at + StructLayouts.EVENT_RESPONDER);
        int outbound = CMemory.getUnsignedByte(at + StructLayouts.EVENT_INITIATOR);
        if (device.isIwarp() && type == CmEvent.Type.ESTABLISHED) {
            // With an answer they come the wrong way round from soft-iWARP. Those of a request are
            // right,
            // and one of them may well be 0: the kernel's client sends no Reads.
            inbound = Math.min(inbound, outbound);
            outbound = inbound;
        }
        boolean isRefused = type == CmEvent.Type.REJECTED && device.meansNobody(status);
        Known addressee = type == null ? null : known.get(subject);
        FfmCmId connection = null;
        Runnable telling = null;
        try {
            byte[] data = privateData(at);
            connection = isRequest ? new FfmCmId(loop, id, true) : null;
            CmEvent copy = new CmEvent(type, connection, isRefused, data, inbound, outbound);
            telling = addressee == null ? null : () -> addressee.target.happened(copy);
        } finally {
            // Also where there is no memory for the copy: else destroying the identifier never
            // ends.
            loop.library().ackCmEvent(at);
            if (telling == null && isRequest) {
                abandon(id, connection);
            }
        }
        if (telling == null) {
            return;
        }
        if (type != CmEvent.Type.ADDR_RESOLVED && type != CmEvent.Type.ROUTE_RESOLVED) {
            addressee.id.answered();
        }
        guard(telling);
    }

    /** Destroys the identifier of a request that nobody else knows. */
    private void abandon(long id, FfmCmId connection) {
        if (connection != null) {
            connection.destroyNow();
        } else {
            loop.library().destroyId(id);
        }
    }

    /** InfiniBand always carries as much as it can, filled up with zeros, whatever was sent. */
    private byte[] privateData(long at) {
        long data = CMemory.getLong(at + StructLayouts.EVENT_DATA);
        int length = CMemory.getUnsignedByte(at + StructLayouts.EVENT_DATA_LENGTH);
        if (data == 0 || length == 0) {
            return new byte[0];
        }
        byte[] bytes = CMemory.getBytes(data, length);
        for (byte b : bytes) {
            if (b != 0 || device.isIwarp()) {
                return bytes;
            }
        }
        return new byte[0];
    }

    static void guard(Runnable task) {
        ConnectionErrorGuard.run(task, "A handler of connection events failed");
    }

    /** An identifier that is destroyed is not taken for another one that has got its place in memory. */
    private Known find(FfmCmId id) {
        Known entry = known.get(id.pointer());
        return entry != null && entry.id == id ? entry : null;
    }

    /** A connect that was made elsewhere has failed, of which no event tells. */
    void connectFailed(FfmCmId id, int number) {
        Known connecting = find(id);
        if (connecting != null) {
            connecting.id.answered();
            connecting.target.happened(FfmCmId.failure(number));
        }
    }

    /** The device says that a queue pair is broken. */
    void broken(FfmCmId id, String what) {
        Known owner = find(id);
        if (owner != null) {
            owner.target.broken(what);
        }
    }
}
