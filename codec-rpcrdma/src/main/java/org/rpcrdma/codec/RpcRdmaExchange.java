// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.Arrays;
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.binding.GenericBinding;
import org.rpcrdma.codec.binding.UpperLayerBinding;

/**
 * One outstanding call and what the handlers of its connection share about it. It travels between them in the place of the message.
 * Belongs to one connection, lives on its event loop and is used again for later calls.
 */
final class RpcRdmaExchange implements ChannelFutureListener {

    /** Where the call is; the states of RFC 8166 roles in the order in which they are passed. */
    enum State {
        FREE,
        // requester
        QUEUED,
        SENT,
        /** The reply has come, and its Read chunks are being pulled. */
        REPLIED_BY_READ_CHUNK,
        /** Cancelled: the memory is fenced, credit and XID are still taken. */
        ZOMBIE,
        // responder
        PULLING,
        /** A duplicate of a call that a handler is at work on. */
        WAITING,
        DELIVERED,
        REPLIED
    }

    final RpcRdmaConnection connection;

    State state = State.FREE;
    boolean isRequester;
    int xid;

    /** What call and reply are sent in. */
    ProtocolVersion protocol;

    /** Requester: the lists that were offered. Responder: the lists of the call, then those of the reply. */
    TransportHeader header = new TransportHeader();

    UpperLayerBinding binding = GenericBinding.INSTANCE;
    int version;
    int procedure;

    /** Whether binding, version and procedure are known and items may leave the payload stream. */
    boolean isReducible;

    /** The message under way: the call of the user, the Send of the peer, the reply. Owned. */
    ByteBuf message;

    /** What the user wrote in the place of a plain message, with the memory that belongs to it. Owned. */
    RpcMessage annotated;

    /** An optional operation in the place of an RPC message: first its call, then its reply. Owned. */
    RpcRdmaOption option;

    /** Arguments or results that go into chunks. */
    final ItemList items = new ItemList();

    /** The payload stream goes, or came, in a Position Zero Read chunk or a Reply chunk. */
    boolean isLong;

    // ---- requester

    ChannelPromise promise;
    long startNanos;

    /** Bytes that the Write chunks have to take. */
    private int[] sinkLengths = new int[2];

    private int sinkCount;

    /** The longest payload stream of the reply, what goes to Write chunks not counted. */
    long replyMaximum;

    /** The longest whole reply that the binding knows; 0 when it does not. */
    long replyLimit;

    /** Whether the binding or the call says how long the reply can be. */
    boolean isReplyBounded;

    /** Bytes of the Reply chunk; 0 for none. */
    int replyChunkBytes;

    private int[] handles = new int[4];
    private int handleCount;

    /** Copies that are exposed in the place of the user's memory. */
    private ByteBuf[] copies = new ByteBuf[2];

    private int copyCount;

    /** The memory behind the Write chunks, in their order. */
    private ByteBuf[] sinks = new ByteBuf[2];

    ByteBuf replySink;

    RpcRdmaException failure;

    /** The answer was RDMA_ERROR. */
    boolean isRefused;

    /** The pull completions that were sent before the call. */
    long completionsBefore;

    // ---- who pulls: the responder a call, the requester a reply in Read chunks

    final ReadLayout layout = new ReadLayout();

    /** The rebuilt message. */
    ByteBuf assembly;

    /** Bytes counted against the connection's limit until the exchange is over. */
    int pulledBytes;

    private int pendingReads;
    private boolean readFailed;
    private ChunkReducer reader;

    /** A Read has failed that was never carried out: the connection is as it was. */
    private boolean isPullRefused;

    /** A long message that may be a call or a reply, until its payload is there. */
    boolean isUndetermined;

    // ---- responder

    boolean mayInvalidate;
    int invalidateHandle;

    /** The call is answered with ERR_CHUNK. */
    boolean isRejected;

    RpcRdmaExchange(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    RpcRdmaOption takeOption() {
        RpcRdmaOption taken = option;
        option = null;
        return taken;
    }

    // ------------------------------------------------------------------ requester

    int sinkCount() {
        return sinkCount;
    }

    int sinkLength(int sink) {
        return sinkLengths[sink];
    }

    void addSink(int length) {
        if (sinkCount == sinkLengths.length) {
            sinkLengths = Arrays.copyOf(sinkLengths, sinkCount << 1);
            sinks = Arrays.copyOf(sinks, sinkCount << 1);
        }
        sinkLengths[sinkCount++] = length;
    }

    void sinkLength(int sink, int length) {
        sinkLengths[sink] = length;
    }

    void clearSinks() {
        sinkCount = 0;
    }

    void sink(int sink, ByteBuf memory) {
        sinks[sink] = memory;
    }

    ByteBuf sink(int sink) {
        return sinks[sink];
    }

    ByteBuf takeSink(int sink) {
        ByteBuf memory = sinks[sink];
        sinks[sink] = null;
        return memory;
    }

    void addCopy(ByteBuf copy) {
        if (copyCount == copies.length) {
            copies = Arrays.copyOf(copies, copyCount << 1);
        }
        copies[copyCount++] = copy;
    }

    void addHandle(int handle) {
        if (handleCount == handles.length) {
            handles = Arrays.copyOf(handles, handleCount << 1);
        }
        handles[handleCount++] = handle;
    }

    /**
     * Takes the memory of the call out of the responder's reach, then lets go of the arguments (RFC 8166, 4.4.1). When a
     * region cannot be invalidated the connection is closed before anything else happens (4.5.4).
     */
    void fence() {
        for (int i = 0; i < handleCount; i++) {
            connection.invalidate(handles[i]);
        }
        handleCount = 0;
        for (int i = 0; i < copyCount; i++) {
            copies[i].release();
            copies[i] = null;
        }
        copyCount = 0;
        releaseMessage();
    }

    /** Whether the answer to this call has not come yet. */
    boolean isUnanswered() {
        return state == State.SENT || (state == State.ZOMBIE && !hasPendingReads());
    }

    // ------------------------------------------------------------------ pulling

    /** One Read more, and the guard that the reducer takes away when it has written all. */
    void readPending() {
        pendingReads++;
    }

    void reader(ChunkReducer reader) {
        this.reader = reader;
    }

    boolean hasPendingReads() {
        return pendingReads > 0;
    }

    @Override
    public void operationComplete(ChannelFuture read) {
        if (!read.isSuccess()) {
            boolean isLost =
                    read.cause() instanceof RdmaException
                            || read.cause() instanceof ClosedChannelException
                            || !connection.channel().isActive();
            isPullRefused |= !isLost;
            if (!isRequester) {
                connection.blame(xid, read.cause());
            }
        }
        readDone(read.isSuccess());
    }

    /** Whether a Read has failed, and the connection does not know of it. */
    boolean isPullRefused() {
        return isPullRefused;
    }

    void readDone(boolean success) {
        readFailed |= !success;
        if (--pendingReads == 0) {
            reader.pulled(this, !readFailed);
        }
    }

    // ------------------------------------------------------------------ end

    void releaseMessage() {
        if (message != null) {
            ByteBuf done = message;
            message = null;
            done.release();
        }
    }

    void releaseAnnotated() {
        if (annotated != null) {
            RpcMessage done = annotated;
            annotated = null;
            items.clear();
            done.release();
        }
    }

    /** Lets go of everything; the memory has to be fenced, or the connection closed. */
    void clear() {
        releaseMessage();
        for (int i = 0; i < copyCount; i++) {
            copies[i].release();
            copies[i] = null;
        }
        copyCount = 0;
        handleCount = 0;
        for (int i = 0; i < sinkCount; i++) {
            ReferenceCountUtil.release(takeSink(i));
        }
        sinkCount = 0;
        ReferenceCountUtil.release(replySink);
        replySink = null;
        ReferenceCountUtil.release(assembly);
        assembly = null;
        releaseAnnotated();
        ReferenceCountUtil.release(takeOption());
        items.clear();
        header.clear();
        binding = GenericBinding.INSTANCE;
        isReducible = false;
        isLong = false;
        promise = null;
        startNanos = 0;
        replyMaximum = 0;
        replyLimit = 0;
        isReplyBounded = false;
        replyChunkBytes = 0;
        failure = null;
        isRefused = false;
        completionsBefore = 0;
        readFailed = false;
        isPullRefused = false;
        reader = null;
        isUndetermined = false;
        mayInvalidate = false;
        isRejected = false;
        state = State.FREE;
    }
}
