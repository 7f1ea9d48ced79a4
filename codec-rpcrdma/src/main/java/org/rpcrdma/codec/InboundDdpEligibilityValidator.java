// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.Reduction;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.ReadChunkLayout;
import org.rpcrdma.codec.wire.RpcHeaderDecoder;

/**
 * Validates the pulled arguments of a call: only DDP-eligible items may be reduced, and each chunk must have the length
 * of its item (RFC 8166, 6.1 and 3.4.5.2).
 */
final class InboundDdpEligibilityValidator {

    private static final Refusal NOT_ELIGIBLE =
            Refusal.chunkError("an argument that is not eligible was reduced");

    private static final Refusal GARBAGE =
            Refusal.garbageArguments("chunk and argument differ in length");

    private final ConnectionContext link;

    // Scratch.
    private final RpcHeaderDecoder rpc = new RpcHeaderDecoder();
    private final ProcedureBinding procedure = new ProcedureBinding();
    private final XdrCursor cursor = new XdrCursor();

    InboundDdpEligibilityValidator(ConnectionContext link) {
        this.link = link;
    }

    /**
     * Checks the items of a call.
     *
     * @return why it is refused; {@code null} when it is not
     * @throws UpperLayerBindingException when the upper-layer binding has failed
     */
    Refusal check(InboundCall call) throws UpperLayerBindingException {
        ByteBuf whole = call.request.message;
        ReadChunkLayout layout = call.request.pull.layout();
        if (!rpc.decode(whole, 0, whole.writerIndex()) || !rpc.isReductionAllowed()) {
            return NOT_ELIGIBLE;
        }
        procedure.of(rpc, link.config().bindings());
        Reduction reduction = layout.isApart() ? layout : Reduction.NONE;
        cursor.wrap(whole, 0, rpc.argumentsIndex(), whole.writerIndex(), reduction);
        boolean isMalformed = !procedure.walkArguments(cursor);
        for (int chunk = 0; chunk < layout.chunks(); chunk++) {
            int item = OutboundDdpEligibilityValidator.find(cursor, layout.position(chunk));
            if (item < 0) {
                return isMalformed ? GARBAGE : NOT_ELIGIBLE;
            }
            int length = cursor.itemLength(item);
            int pulled = layout.length(chunk);
            if (pulled != length && pulled != XdrCursor.roundUp(length)) {
                return GARBAGE;
            }
            layout.itemLength(chunk, length);
        }
        return isMalformed ? GARBAGE : null;
    }

    /** Builds the message for the handlers with the pulled items apart from the payload; takes over the memory. */
    static RpcMessage inParts(InboundCall call, ByteBuf memory) {
        RpcMessage message = new RpcMessage(memory);
        if (call.request.hasItems()) {
            ReadChunkLayout layout = call.request.pull.layout();
            for (int i = 0; i < layout.chunks(); i++) {
                message.addItem(
                        layout.position(i),
                        memory.retainedSlice(layout.chunkStart(i), layout.length(i)));
            }
        }
        message.offered(call.chunks.header);
        return message;
    }
}
