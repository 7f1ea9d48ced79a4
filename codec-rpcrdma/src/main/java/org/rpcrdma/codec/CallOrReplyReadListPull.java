// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.codec.internal.RpcRdmaFlightEvents;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.ReassembledPayloadStreamLayout;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Pull of one Read list: the RDMA Reads of its chunks, from validation until the message is contiguous. Independent of
 * roles, because only the payload tells whether a long message is a call or a reply (RFC 8167, 4.1). Reused for later
 * messages.
 */
final class CallOrReplyReadListPull implements ChannelFutureListener {

    /** Called when all Reads have completed, unless the pull was freed before. */
    interface Taker {
        void pulled(ChannelHandlerContext ctx, CallOrReplyReadListPull pull);
    }

    private enum State {
        /** No Read is posted yet. */
        PLANNED,
        READING,
        DONE
    }

    private final ConnectionSharedState link;
    private final InboundPullMemoryBudget budget;

    /** Whether its memory is that of calls. */
    private final boolean isOfCall;

    /**
     * Whether the peer has sent the message unsolicited: its incomplete bytes count against the quota of the peer's
     * address, and a Read that ends the connection marks the call with this XID as fatal.
     */
    private boolean isUnsolicited;

    /** Calls may keep their items apart, with annotatedCalls; a reply is always made contiguous. */
    private final ReassembledPayloadStreamLayout layout;

    /** Header of a message that is not yet known to be a call or a reply; otherwise unused. */
    private final TransportHeader header = new TransportHeader();

    private State state = State.PLANNED;
    private int xid;

    private ByteBuf memory;
    private int countedBytes;

    /** The part of those bytes that counts as incomplete. */
    private int incompleteBytes;

    /** Reason of the last failed allocation. */
    private String reason;

    private ChannelHandlerContext context;
    private Taker taker;
    private int pendingReads;
    private boolean hasFailed;
    private boolean isRefused;

    CallOrReplyReadListPull(
            ConnectionSharedState link, InboundPullMemoryBudget budget, boolean isOfCall) {
        this.link = link;
        this.budget = budget;
        this.isOfCall = isOfCall;
        layout = new ReassembledPayloadStreamLayout(isOfCall && link.config().annotatedCalls());
    }

    /** Begins with a message. */
    CallOrReplyReadListPull of(int message, boolean isFromPeerAlone) {
        state = State.PLANNED;
        xid = message;
        isUnsolicited = isFromPeerAlone;
        hasFailed = false;
        isRefused = false;
        return this;
    }

    int xid() {
        return xid;
    }

    /** What its memory counts against. */
    InboundPullMemoryBudget budget() {
        return budget;
    }

    /** Whether it was begun as that of a call. */
    boolean isOfCall() {
        return isOfCall;
    }

    /** Layout of the rebuilt message; computed before {@link #tryAllocate}. */
    ReassembledPayloadStreamLayout layout() {
        return layout;
    }

    TransportHeader header() {
        return header;
    }

    /** Allocates the memory of the whole rebuilt message; {@code false} on failure, with a {@link #reason}. */
    boolean tryAllocate() {
        int total = layout.total();
        reason = budget.count(total);
        if (reason != null) {
            RpcRdmaFlightEvents.noMemory(link.channel, total, reason);
            return false;
        }
        countedBytes = total;
        try {
            if (isUnsolicited) {
                // The peer decides how much, and when the data arrive.
                link.internals.incompleteBegins(total);
                incompleteBytes = total;
            }
            memory = link.buffer(total);
            return true;
        } catch (RuntimeException | OutOfMemoryError e) {
            reason = e.getMessage(); // of whichever limit is reached
            budget.discount(total);
            countedBytes = 0;
            completed(); // the next attempt counts again
            RpcRdmaFlightEvents.noMemory(link.channel, total, reason);
            return false;
        }
    }

    /** Reason why the message is not pulled, in one sentence. */
    String noMemory() {
        return "no memory for a message of " + layout.total() + " bytes: " + reason;
    }

    /**
     * Reads all chunks.
     *
     * @param inline the reduced payload stream, borrowed; {@code null} when it is in a Position Zero Read chunk
     */
    void read(ChannelHandlerContext ctx, ReadList reads, ByteBuf inline, Taker next) {
        state = State.READING;
        context = ctx;
        taker = next;
        pendingReads = 1; // held until all Reads are posted
        if (inline == null) {
            readStream(reads);
        } else {
            placeStream(inline);
        }
        readChunks(reads);
        readDone(true);
    }

    /** Copies the reduced stream around the positions of the Read chunks. */
    private void placeStream(ByteBuf inline) {
        int index = inline.readerIndex();
        for (int piece = 0; piece < layout.pieces(); piece++) {
            int length = layout.pieceLength(piece);
            memory.setBytes(layout.pieceStart(piece), inline, index, length);
            index += length;
        }
    }

    private void readStream(ReadList reads) {
        int piece = 0;
        int done = 0;
        for (int i = 0; i < reads.segments(); i++) {
            if (reads.position(i) != 0) {
                continue;
            }
            int left = (int) reads.length(i);
            long offset = reads.offset(i);
            while (left > 0) {
                while (done == layout.pieceLength(piece)) {
                    piece++;
                    done = 0;
                }
                int length = Math.min(left, layout.pieceLength(piece) - done);
                read(layout.pieceStart(piece) + done, length, reads.handle(i), offset);
                done += length;
                offset += length;
                left -= length;
            }
        }
    }

    private void readChunks(ReadList reads) {
        for (int chunk = 0; chunk < layout.chunks(); chunk++) {
            int at = layout.chunkStart(chunk);
            for (int i = 0; i < reads.segments(); i++) {
                int length = (int) reads.length(i);
                if (reads.position(i) == layout.position(chunk) && length > 0) {
                    read(at, length, reads.handle(i), reads.offset(i));
                    at += length;
                }
            }
            // A chunk has no round-up of its own: the rebuilt stream needs it (3.4.5.2).
            memory.setZero(at, layout.pad(chunk));
        }
    }

    private void read(int index, int length, int handle, long offset) {
        link.metrics.add(RpcRdmaCounter.READ_BYTES, length);
        pendingReads++;
        ByteBuf sink = memory.retainedSlice(index, length);
        context.write(new RdmaRead(sink, handle, offset)).addListener(this);
        link.flushes().request();
    }

    @Override
    public void operationComplete(ChannelFuture read) {
        if (!read.isSuccess()) {
            boolean isLost =
                    read.cause() instanceof WorkRequestFailedException
                            || read.cause() instanceof ClosedChannelException
                            || !link.channel.isActive();
            isRefused |= !isLost;
            if (isUnsolicited) {
                link.blame(xid, read.cause());
            }
        }
        readDone(read.isSuccess());
    }

    private void readDone(boolean success) {
        hasFailed |= !success;
        if (--pendingReads > 0) {
            return;
        }
        state = State.DONE;
        completed();
        Taker next = taker;
        ChannelHandlerContext ctx = context;
        taker = null;
        context = null;
        if (next == null) {
            budget.recycle(this);
        } else {
            next.pulled(ctx, this);
        }
    }

    private void completed() {
        if (incompleteBytes > 0) {
            link.internals.incompleteEnds(incompleteBytes);
            incompleteBytes = 0;
        }
    }

    /** Whether all Reads have completed, successfully or not. */
    boolean isDone() {
        return state == State.DONE;
    }

    /** Whether all Reads have succeeded. */
    boolean isWhole() {
        return state == State.DONE && !hasFailed;
    }

    /** Whether a Read failed before it was posted: the connection is unaffected. */
    boolean isRefused() {
        return isRefused;
    }

    /** The rebuilt message, borrowed, when it is {@linkplain #isWhole whole}. */
    ByteBuf memory() {
        return memory;
    }

    /** Transfers the {@linkplain #isWhole whole} message to the caller: all of it, or the payload before the items. */
    ByteBuf take() {
        ByteBuf whole = memory.setIndex(0, layout.memoryBytes());
        memory = null;
        return whole;
    }

    /** Discards the pull. Outstanding Reads keep its memory until the last of them completes. */
    void free() {
        taker = null;
        if (state != State.READING) {
            budget.recycle(this);
        }
    }

    /** Releases all memory; returns the bytes that were counted. */
    int clear() {
        completed();
        ReferenceCountUtil.release(memory);
        memory = null;
        header.clear();
        int counted = countedBytes;
        countedBytes = 0;
        return counted;
    }
}
