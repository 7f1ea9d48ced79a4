// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.ReadLayout;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * The arguments of a call whose Read chunks are there: only eligible ones may have been in chunks, and a chunk has
 * the length of its item (RFC 8166, 6.1 and 3.4.5.2).
 */
final class InboundCallValidator {

    enum Verdict {
        FINE,
        NOT_ELIGIBLE,
        /** The arguments do not parse: that is for RPC to say, not for the transport (4.5.2). */
        GARBAGE
    }

    private final ConnectionContext link;

    // Scratch.
    private final RpcCallHeader rpc = new RpcCallHeader();
    private final Procedure procedure = new Procedure();
    private final XdrCursor cursor = new XdrCursor();

    InboundCallValidator(ConnectionContext link) {
        this.link = link;
    }

    /**
     * Checks the items of a call.
     *
     * @throws BindingException when the upper-layer binding has failed
     */
    Verdict check(InboundCall call) throws BindingException {
        ByteBuf whole = call.received;
        ReadLayout layout = call.pull.layout();
        if (!rpc.decode(whole, 0, whole.writerIndex()) || !rpc.isReductionAllowed()) {
            return Verdict.NOT_ELIGIBLE;
        }
        procedure.of(rpc, link.config().bindings());
        Reduction reduction = layout.isApart() ? layout : Reduction.NONE;
        cursor.wrap(whole, 0, rpc.argumentsIndex(), whole.writerIndex(), reduction);
        boolean isMalformed = !procedure.walkArguments(cursor);
        for (int chunk = 0; chunk < layout.chunks(); chunk++) {
            int item = OutboundDdpItemValidator.find(cursor, layout.position(chunk));
            if (item < 0) {
                return isMalformed ? Verdict.GARBAGE : Verdict.NOT_ELIGIBLE;
            }
            int length = cursor.itemLength(item);
            int pulled = layout.length(chunk);
            if (pulled != length && pulled != XdrCursor.roundUp(length)) {
                return Verdict.GARBAGE;
            }
            layout.itemLength(chunk, length);
        }
        return isMalformed ? Verdict.GARBAGE : Verdict.FINE;
    }

    /** What the handlers read of a call that has come in parts; its memory is taken over. */
    static RpcMessage inParts(InboundCall call, ByteBuf memory) {
        RpcMessage message = new RpcMessage(memory);
        if (call.hasItems()) {
            ReadLayout layout = call.pull.layout();
            for (int i = 0; i < layout.chunks(); i++) {
                message.addItem(
                        layout.position(i),
                        memory.retainedSlice(layout.chunkStart(i), layout.length(i)));
            }
        }
        message.offered(call.header);
        return message;
    }
}
