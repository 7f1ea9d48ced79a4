// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.ReadLayout;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A call of the peer, from its header until its reply is handed to the device. It travels between the stages in the
 * place of the message. Belongs to one {@link Responder}, lives on its event loop and is used again for later calls.
 */
final class InboundCall {

    int xid;

    /** What call and reply are sent in. */
    ProtocolVersion protocol;

    /** First the lists of the call, then those of the reply. */
    final TransportHeader header = new TransportHeader();

    /** Of a call with Read chunks: what they were, as long as their memory counts. Owned. */
    InboundReadListPull pull;

    /** The payload stream came in a Position Zero Read chunk; later: it does not go inline. */
    boolean isLong;

    /** The call: what came inline, then the whole message. Owned. */
    ByteBuf received;

    /** An optional operation in the place of an RPC message: first the call, then its reply. Owned. */
    RpcRdmaOption option;

    /** Unknown until the call is delivered, and unless somebody needs it. */
    final Procedure procedure = new Procedure();

    /** What its binding calls it; {@code null} when it does not, or nobody wants to know. */
    String procedureName;

    /** When it was received; 0 when nobody wants to know. */
    long startNanos;

    /** A handler has the call, and has not answered. */
    boolean isDelivered;

    /** What the handler wrote. */
    final OutboundPayload reply = new OutboundPayload();

    /** It is answered with ERR_CHUNK. */
    boolean isRejected;

    /** Whether the Send of the reply invalidates {@link #invalidateHandle} too. */
    boolean mayInvalidate;

    int invalidateHandle;

    /** Send With Invalidate is for calls with exactly one handle: with several the requester has to do it anyway. */
    void findInvalidateHandle(ConnectionContext link) {
        mayInvalidate =
                link.bothTakeInvalidate()
                        && singleHandle(header.reads(), false)
                        && singleHandle(header.writes(), header.reads().segments() > 0)
                        && singleHandle(
                                header.reply(),
                                header.reads().segments() + header.writes().segments() > 0)
                        && header.reads().segments()
                                        + header.writes().segments()
                                        + header.reply().segments()
                                > 0;
    }

    private boolean singleHandle(SegmentList list, boolean isKnown) {
        boolean known = isKnown;
        for (int i = 0; i < list.segments(); i++) {
            if (known && list.handle(i) != invalidateHandle) {
                return false;
            }
            invalidateHandle = list.handle(i);
            known = true;
        }
        return true;
    }

    /** Whether arguments came in Read chunks of their own. */
    boolean hasItems() {
        return pull != null && pull.layout().chunks() > 0;
    }

    /** Whether the items that were pulled are behind the payload stream, and not in their places in it. */
    private boolean isApart() {
        return hasItems() && pull.layout().isApart();
    }

    /** The bytes of the whole call, as long as it has its message. */
    int wholeLength() {
        return isApart() ? pull.layout().total() : received.readableBytes();
    }

    /** Shows the first bytes of the whole call, wherever its items are; it has its message. */
    void forEachByte(int length, ByteProcessor processor) {
        if (!isApart()) {
            received.forEachByte(received.readerIndex(), length, processor);
            return;
        }
        ReadLayout layout = pull.layout();
        int left = length;
        for (int piece = 0; piece < layout.pieces(); piece++) {
            int bytes = Math.min(left, layout.pieceLength(piece));
            received.forEachByte(layout.pieceStart(piece), bytes, processor);
            left -= bytes;
            if (piece < layout.chunks()) {
                bytes = Math.min(left, layout.length(piece) + layout.pad(piece));
                received.forEachByte(layout.chunkStart(piece), bytes, processor);
                left -= bytes;
            }
        }
    }

    /** Gives the call away. */
    ByteBuf takeReceived() {
        ByteBuf taken = received;
        received = null;
        return taken;
    }

    void releaseReceived() {
        ReferenceCountUtil.release(takeReceived());
    }

    /** The call was pulled: it is in one piece now. */
    void takeWhole() {
        releaseReceived();
        received = pull.take();
    }

    RpcRdmaOption takeOption() {
        RpcRdmaOption taken = option;
        option = null;
        return taken;
    }

    /** Lets go of everything. */
    void clear() {
        header.clear();
        if (pull != null) {
            pull.free();
            pull = null;
        }
        isLong = false;
        releaseReceived();
        ReferenceCountUtil.release(takeOption());
        procedure.clear();
        procedureName = null;
        startNanos = 0;
        isDelivered = false;
        reply.clear();
        isRejected = false;
        mayInvalidate = false;
    }
}
