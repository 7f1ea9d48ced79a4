// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.rpcrdma.verbs.hardware.CmEvent;
import org.rpcrdma.verbs.hardware.CmEventHandler;
import org.rpcrdma.verbs.hardware.ConnectionParameters;
import org.rpcrdma.verbs.hardware.NativeCmId;
import org.rpcrdma.verbs.hardware.NativeEventLoopDevice;
import org.rpcrdma.verbs.hardware.NativeQueuePair;

/**
 * An {@code rdma_cm_id}.
 *
 * <p>Over iWARP two calls block, for as long as TCP or the peer takes: {@code rdma_connect}, and the end of a
 * connection that the peer has not answered. Both are made by {@link BlockingCallThreads}, one after the other;
 * everything else by the event loop.
 */
final class FfmCmId implements NativeCmId {

    private static final InternalLogger logger = InternalLoggerFactory.getInstance(FfmCmId.class);

    /** Receives that are not posted in time are waited for, without a limit: credits see to it that they come. */
    private static final int MOST_RETRIES = 7;

    /** What a rejection carries on every kind of device. */
    private static final int MAX_REJECT_DATA = 148;

    private FfmEventLoopDevice loop;
    private long pointer;
    private FfmQueuePair queuePair;

    /** Of a request that nobody has taken: whoever answers it may be another thread. */
    private boolean isRequest;

    /** Over iWARP, from connect to the peer's answer: what is done for it elsewhere. */
    private CompletableFuture<Void> elsewhere;

    /** @param isRequest made by a request, which keeps the event loop's share of the device until somebody takes it */
    FfmCmId(FfmEventLoopDevice loop, long pointer, boolean isRequest) {
        if (isRequest) {
            loop.retain();
        }
        this.loop = loop;
        this.pointer = pointer;
        this.isRequest = isRequest;
    }

    long pointer() {
        return pointer;
    }

    @Override
    public void target(CmEventHandler target) {
        loop.connections().target(this, target);
    }

    @Override
    public void adopt(NativeEventLoopDevice adopter, CmEventHandler target) throws IOException {
        FfmEventLoopDevice from = loop;
        FfmEventLoopDevice to = (FfmEventLoopDevice) adopter;
        long moved = pointer;
        to.connections().target(this, target);
        if (from != to) {
            boolean isMigrated = false;
            try {
                Errno.check(
                        to.library(),
                        "rdma_migrate_id",
                        to.library().migrateId(moved, to.eventChannel()));
                isMigrated = true;
            } finally {
                if (!isMigrated) {
                    // It stays a request of the other loop, whose share it gives back when it is
                    // destroyed.
                    to.connections().forget(moved, this);
                }
            }
        }
        isRequest = false;
        loop = to;
        try {
            if (from != to) {
                from.later(() -> from.connections().forget(moved, this));
            }
        } finally {
            from.release(to.library());
        }
    }

    @Override
    public boolean isOn(NativeEventLoopDevice device) {
        return CMemory.getLong(pointer + StructLayouts.ID_VERBS)
                == ((FfmEventLoopDevice) device).context();
    }

    @Override
    public void bind(InetSocketAddress local) throws IOException {
        // A listener at all addresses of IPv6 is to leave those of IPv4 alone.
        if (local.getAddress() instanceof Inet6Address) {
            setOption(StructLayouts.OPTION_AFONLY, 1, Integer.BYTES);
        }
        Errno.check(
                loop.library(),
                "rdma_bind_addr",
                loop.library().bindAddr(pointer, loop.put(local)));
    }

    /** {@code RDMA_OPTION_ID_TOS} takes one byte, and nothing longer. */
    @Override
    public void trafficClass(int octet) throws IOException {
        setOption(StructLayouts.OPTION_TOS, octet, Byte.BYTES);
    }

    /** An int, or a byte. */
    private void setOption(int name, int value, int length) throws IOException {
        long at = loop.scratch();
        if (length == Byte.BYTES) {
            CMemory.putByte(at, value);
        } else {
            CMemory.putInt(at, value);
        }
        Errno.check(
                loop.library(),
                "rdma_set_option",
                loop.library().setOption(pointer, StructLayouts.OPTION_ID, name, at, length));
    }

    @Override
    public void listen(int backlog) throws IOException {
        Errno.check(loop.library(), "rdma_listen", loop.library().listen(pointer, backlog));
    }

    @Override
    public void resolveAddress(InetSocketAddress remote, int millis) throws IOException {
        Errno.check(
                loop.library(),
                "rdma_resolve_addr",
                loop.library().resolveAddr(pointer, loop.put(remote), millis));
    }

    @Override
    public void resolveRoute(int millis) throws IOException {
        Errno.check(
                loop.library(), "rdma_resolve_route", loop.library().resolveRoute(pointer, millis));
    }

    @Override
    public NativeQueuePair createQueuePair(
            NativeEventLoopDevice owner, int sends, int receives, int ranges) throws IOException {
        long attributes = loop.scratch();
        CMemory.clear(attributes, StructLayouts.QP_INIT_SIZE);
        CMemory.putLong(attributes + StructLayouts.QP_INIT_SEND_CQ, loop.queue());
        CMemory.putLong(attributes + StructLayouts.QP_INIT_RECV_CQ, loop.queue());
        CMemory.putInt(attributes + StructLayouts.QP_INIT_MAX_SEND_WR, sends);
        CMemory.putInt(attributes + StructLayouts.QP_INIT_MAX_RECV_WR, receives);
        CMemory.putInt(attributes + StructLayouts.QP_INIT_MAX_SEND_SGE, ranges);
        CMemory.putInt(attributes + StructLayouts.QP_INIT_MAX_RECV_SGE, 1);
        CMemory.putInt(attributes + StructLayouts.QP_INIT_TYPE, StructLayouts.QP_TYPE_RC);
        long before = CMemory.getLong(pointer + StructLayouts.ID_QP);
        try {
            Errno.check(
                    loop.library(),
                    "rdma_create_qp",
                    loop.library().createQp(pointer, loop.domain(), attributes));
            long made = CMemory.getLong(pointer + StructLayouts.ID_QP);
            FfmQueuePair fresh = new FfmQueuePair(this, loop.operations(), loop.bad(), made);
            AsyncEventRouter.add(made, breakage());
            queuePair = fresh;
            return fresh;
        } catch (Throwable t) {
            // It is made, perhaps, and nobody knows it.
            long half = CMemory.getLong(pointer + StructLayouts.ID_QP);
            if (half != before) {
                destroyQueuePair(half);
            }
            throw t;
        }
    }

    /** Tells this identifier that its queue pair is broken, from any thread. */
    Consumer<String> breakage() {
        FfmEventLoopDevice mine = loop;
        return what -> mine.later(() -> mine.connections().broken(this, what));
    }

    private void put(long at, ConnectionParameters parameters) {
        int inbound = parameters.inboundReads();
        int outbound = parameters.outboundReads();
        if (loop.isIwarp()) {
            // Which of the two numbers is which, soft-iWARP tells its peers the wrong way round.
            inbound = Math.max(inbound, outbound);
            outbound = inbound;
        }
        byte[] data = parameters.privateData();
        CMemory.clear(at, StructLayouts.PARAM_SIZE);
        CMemory.putBytes(at + StructLayouts.PARAM_SIZE, data);
        CMemory.putLong(
                at + StructLayouts.PARAM_DATA,
                data.length == 0 ? 0 : at + StructLayouts.PARAM_SIZE);
        CMemory.putByte(at + StructLayouts.PARAM_DATA_LENGTH, data.length);
        CMemory.putByte(at + StructLayouts.PARAM_RESPONDER, inbound);
        CMemory.putByte(at + StructLayouts.PARAM_INITIATOR, outbound);
        CMemory.putByte(at + StructLayouts.PARAM_FLOW_CONTROL, 1);
        CMemory.putByte(at + StructLayouts.PARAM_RETRIES, MOST_RETRIES);
        CMemory.putByte(at + StructLayouts.PARAM_RNR_RETRIES, MOST_RETRIES);
    }

    @Override
    public void connect(ConnectionParameters parameters) throws IOException {
        if (loop.isIwarp()) {
            elsewhere = connectElsewhere(parameters);
            return;
        }
        long at = loop.scratch();
        put(at, parameters);
        Errno.check(loop.library(), "rdma_connect", loop.library().connect(pointer, at));
    }

    /** A failure is no event, and is handed over as if it were one. */
    private CompletableFuture<Void> connectElsewhere(ConnectionParameters parameters) {
        MemorySegment memory =
                Arena.ofAuto().allocate(StructLayouts.PARAM_SIZE + parameters.privateData().length);
        put(memory.address(), parameters);
        FfmEventLoopDevice waiting = loop;
        long connecting = pointer;
        return BlockingCallThreads.run(
                () -> {
                    NativeFunctions library = waiting.newLibrary();
                    try {
                        if (library.connect(connecting, memory.address()) == -1) {
                            int number = library.errno();
                            waiting.later(() -> waiting.connections().connectFailed(this, number));
                        }
                    } finally {
                        Reference.reachabilityFence(memory);
                    }
                });
    }

    /** The peer has answered: what ends the connection now does not wait. */
    void answered() {
        elsewhere = null;
    }

    @Override
    public void accept(ConnectionParameters parameters) throws IOException {
        long at = loop.scratch();
        put(at, parameters);
        Errno.check(loop.library(), "rdma_accept", loop.library().accept(pointer, at));
    }

    @Override
    public void reject(byte[] privateData) {
        loop.onLoop(isRequest, () -> rejectNow(privateData));
    }

    private void rejectNow(byte[] privateData) {
        if (pointer == 0) {
            return;
        }
        int length = Math.min(privateData.length, MAX_REJECT_DATA);
        long at = loop.scratch();
        CMemory.putBytes(at, Arrays.copyOf(privateData, length));
        if (loop.library().reject(pointer, length == 0 ? 0 : at, (byte) length) == -1) {
            logger.debug("A rejection could not be sent: {}", Errno.text(loop.library().errno()));
        }
    }

    @Override
    public void disconnect() throws IOException {
        Errno.check(loop.library(), "rdma_disconnect", loop.library().disconnect(pointer));
    }

    @Override
    public InetSocketAddress localAddress() throws IOException {
        return SocketAddresses.get(pointer + StructLayouts.ID_SOURCE);
    }

    @Override
    public InetSocketAddress remoteAddress() throws IOException {
        return SocketAddresses.get(pointer + StructLayouts.ID_DESTINATION);
    }

    void destroyQueuePair(long gone) {
        try {
            AsyncEventRouter.remove(gone);
        } finally {
            // Whatever has failed: the memory that it uses is freed next.
            if (elsewhere == null) {
                loop.library().destroyQp(pointer);
            } else {
                loop.breakQueuePair(gone); // the rest waits for the peer
            }
        }
    }

    @Override
    public void destroy() {
        loop.onLoop(isRequest, this::destroyNow);
    }

    /** On the thread of the loop that has it. */
    void destroyNow() {
        if (pointer == 0) {
            return;
        }
        if (queuePair != null) {
            queuePair.destroy();
        }
        long gone = pointer;
        pointer = 0;
        loop.connections().forget(gone, this);
        if (elsewhere == null) {
            if (loop.library().destroyId(gone) == -1) {
                logger.debug(
                        "An identifier could not be destroyed: {}",
                        Errno.text(loop.library().errno()));
            }
        } else {
            FfmEventLoopDevice user = loop;
            user.retain();
            BlockingCallThreads.runAfter(
                    elsewhere,
                    () -> {
                        NativeFunctions library = user.newLibrary();
                        destroyElsewhere(library, gone);
                        user.release(library);
                    });
        }
        if (isRequest) {
            isRequest = false;
            loop.release(loop.library());
        }
    }

    /** Behind a channel of its own: what the event loop takes from the other one may change the queue pair. */
    private static void destroyElsewhere(NativeFunctions library, long gone) {
        long spare = library.createEventChannel();
        if (spare == 0 || library.migrateId(gone, spare) == -1) {
            logger.debug("An identifier could not be moved: {}", Errno.text(library.errno()));
        }
        library.destroyQp(gone);
        library.destroyId(gone);
        if (spare != 0) {
            library.destroyEventChannel(spare);
        }
    }

    /** What a call of the connection manager that has failed elsewhere means. */
    static CmEvent failure(int number) {
        return number == Errno.ECONNREFUSED
                ? new CmEvent(CmEvent.Type.REJECTED, null, true, new byte[0], 0, 0)
                : CmEvent.of(CmEvent.Type.CONNECT_ERROR, null);
    }
}
