// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReassembledPayloadStreamLayout;

/**
 * Validates the pulled arguments of a call: only DDP-eligible items may be reduced, and each chunk must have the length
 * of its item (RFC 8166, 6.1 and 3.4.5.2).
 */
final class InboundCallDdpEligibilityValidator {

    private static final InboundMessageRefusal NOT_ELIGIBLE =
            InboundMessageRefusal.chunkError("an argument that is not eligible was reduced");

    private static final InboundMessageRefusal GARBAGE =
            InboundMessageRefusal.garbageArguments("chunk and argument differ in length");

    private final ConnectionSharedState link;

    // Scratch.
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final UpperLayerBindingInvoker procedure = new UpperLayerBindingInvoker();
    private final XdrCursor cursor = new XdrCursor();

    InboundCallDdpEligibilityValidator(ConnectionSharedState link) {
        this.link = link;
    }

    /**
     * Checks the items of a call.
     *
     * @return why it is refused; {@code null} when it is not
     * @throws FaultyUpperLayerBindingException when the upper-layer binding has failed
     */
    InboundMessageRefusal check(InboundCallState call) throws FaultyUpperLayerBindingException {
        ByteBuf whole = call.request.message;
        ReassembledPayloadStreamLayout layout = call.request.pull.layout();
        if (!rpc.decode(whole, 0, whole.writerIndex()) || !rpc.reductionAllowed) {
            return NOT_ELIGIBLE;
        }
        procedure.of(rpc, link.config().bindings());
        ItemInChunkPredicate reduction = layout.isApart() ? layout : ItemInChunkPredicate.NONE;
        cursor.wrap(whole, 0, rpc.argumentsIndex, whole.writerIndex(), reduction);
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
    static RpcMessage inParts(InboundCallState call, ByteBuf memory) {
        RpcMessage message = new RpcMessage(memory);
        if (call.request.hasItems()) {
            ReassembledPayloadStreamLayout layout = call.request.pull.layout();
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
