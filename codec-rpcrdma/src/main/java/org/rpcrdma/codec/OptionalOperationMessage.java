// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;
import io.netty.buffer.Unpooled;
import java.util.Objects;
import org.rpcrdma.Experimental;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A message of an optional operation: RDMA2_OPTIONAL (draft-cel-nfsv4-rpcrdma-version-two-01, 3.1 and 4.2). Must fit
 * one Send. The content is the payload after the header, owned by the message; writing the message transfers its
 * ownership.
 */
@Experimental
public final class OptionalOperationMessage extends DefaultByteBufHolder {

    /** The fixed words, direction, type and the length of the information. */
    static final int HEADER_BYTES = TransportHeader.FIXED_BYTES + 12;

    private static final int TYPE_INDEX = TransportHeader.FIXED_BYTES + 4;
    private static final int LENGTH_INDEX = TYPE_INDEX + 4;

    private final int xid;
    private final boolean isReply;
    private final int type;
    private final byte[] information;

    private OptionalOperationMessage(
            int xid, boolean isReply, int type, byte[] information, ByteBuf payload) {
        super(payload);
        this.xid = xid;
        this.isReply = isReply;
        this.type = type;
        this.information = Objects.requireNonNull(information, "information");
    }

    /**
     * Creates the call of an operation.
     *
     * @param xid that no other outstanding call of this side has
     * @param type the number of the operation, unsigned
     * @param information what the operation defines, opaque to the transport; not copied
     * @param payload what follows the header, taken over; empty for nothing
     * @return the call, to be written to the channel
     */
    public static OptionalOperationMessage call(
            int xid, int type, byte[] information, ByteBuf payload) {
        return new OptionalOperationMessage(xid, false, type, information, payload);
    }

    /**
     * As {@link #call(int, int, byte[], ByteBuf)}, without payload.
     *
     * @param xid that no other outstanding call of this side has
     * @param type the number of the operation, unsigned
     * @param information what the operation defines; not copied
     * @return the call, to be written to the channel
     */
    public static OptionalOperationMessage call(int xid, int type, byte[] information) {
        return call(xid, type, information, Unpooled.EMPTY_BUFFER);
    }

    /**
     * The answer to this call; the call itself stays with the caller.
     *
     * @param information not copied
     * @param payload taken over; empty for nothing
     * @return the reply, to be written to the channel
     */
    public OptionalOperationMessage reply(byte[] information, ByteBuf payload) {
        return new OptionalOperationMessage(xid, true, type, information, payload);
    }

    /**
     * As {@link #reply(byte[], ByteBuf)}, without payload.
     *
     * @param information not copied
     * @return the reply, to be written to the channel
     */
    public OptionalOperationMessage reply(byte[] information) {
        return reply(information, Unpooled.EMPTY_BUFFER);
    }

    /** {@return the XID of the operation} */
    public int xid() {
        return xid;
    }

    /** {@return whether it is a reply, and not a call} */
    public boolean isReply() {
        return isReply;
    }

    /** {@return the number of the operation, unsigned} */
    public int type() {
        return type;
    }

    /** {@return what the operation defines; not a copy} */
    public byte[] information() {
        return information;
    }

    // ------------------------------------------------------------------ wire

    int encodedBytes() {
        return HEADER_BYTES + roundUp(information.length) + content().readableBytes();
    }

    /** Appends header and payload. */
    void encode(ByteBuf out, int credit) {
        int direction = isReply ? OncRpcHeaderDecoder.REPLY : OncRpcHeaderDecoder.CALL;
        encodeHeader(out, xid, credit, direction, type, information.length);
        out.writeBytes(information);
        out.writeZero(roundUp(information.length) - information.length);
        out.writeBytes(content(), content().readerIndex(), content().readableBytes());
    }

    static void encodeHeader(
            ByteBuf out, int xid, int credit, int direction, int type, int informationBytes) {
        out.writeInt(xid).writeInt(TransportHeader.VERSION_TWO).writeInt(credit);
        out.writeInt(TransportHeader.RDMA2_OPTIONAL).writeInt(direction).writeInt(type);
        out.writeInt(informationBytes);
    }

    /** Whether an RDMA2_OPTIONAL is a call of this type, and nothing else. */
    static boolean isEmptyCall(ByteBuf message, int type) {
        int start = message.readerIndex();
        return message.readableBytes() == HEADER_BYTES
                && message.getInt(start + TransportHeader.FIXED_BYTES) == OncRpcHeaderDecoder.CALL
                && type(message) == type
                && message.getInt(start + LENGTH_INDEX) == 0;
    }

    /** The type of an RDMA2_OPTIONAL of at least {@link #HEADER_BYTES}. */
    static int type(ByteBuf message) {
        return message.getInt(message.readerIndex() + TYPE_INDEX);
    }

    /**
     * Error in an RDMA2_OPTIONAL of at least {@link #HEADER_BYTES}; {@code null} if it is valid.
     *
     * @param isReply by its direction word
     */
    static String problem(
            ByteBuf message, boolean isReply, OptionalOperationHandler.Payload policy) {
        int start = message.readerIndex();
        long information = message.getUnsignedInt(start + LENGTH_INDEX);
        long left = message.readableBytes() - HEADER_BYTES - ((information + 3) & ~3L);
        if (left < 0) {
            return "option information past the end of the message";
        }
        int payload = (int) (message.writerIndex() - left);
        return switch (policy) {
            case ANY -> null;
            case NONE -> left == 0 ? null : "option with a payload (expected: none)";
            case RPC_MESSAGE -> {
                int direction = isReply ? OncRpcHeaderDecoder.REPLY : OncRpcHeaderDecoder.CALL;
                boolean isSame =
                        left >= OncRpcHeaderDecoder.DIRECTION_BYTES
                                && message.getInt(payload) == message.getInt(start)
                                && message.getInt(payload + 4) == direction;
                yield isSame ? null : "option whose payload is not the RPC message of its header";
            }
        };
    }

    /** Decodes a message that has no {@link #problem}, and takes it over. */
    static OptionalOperationMessage decode(ByteBuf message, boolean isReply) {
        int xid = message.getInt(message.readerIndex());
        int type = type(message);
        byte[] information = new byte[message.getInt(message.readerIndex() + LENGTH_INDEX)];
        message.skipBytes(HEADER_BYTES).readBytes(information);
        message.skipBytes(roundUp(information.length) - information.length);
        return new OptionalOperationMessage(xid, isReply, type, information, message);
    }

    private static int roundUp(int length) {
        return (length + 3) & ~3;
    }

    // ------------------------------------------------------------------ holder

    @Override
    public OptionalOperationMessage replace(ByteBuf content) {
        return new OptionalOperationMessage(xid, isReply, type, information, content);
    }

    @Override
    public OptionalOperationMessage copy() {
        return (OptionalOperationMessage) super.copy();
    }

    @Override
    public OptionalOperationMessage duplicate() {
        return (OptionalOperationMessage) super.duplicate();
    }

    @Override
    public OptionalOperationMessage retainedDuplicate() {
        return (OptionalOperationMessage) super.retainedDuplicate();
    }

    @Override
    public OptionalOperationMessage retain() {
        super.retain();
        return this;
    }

    @Override
    public OptionalOperationMessage retain(int increment) {
        super.retain(increment);
        return this;
    }

    @Override
    public OptionalOperationMessage touch() {
        super.touch();
        return this;
    }

    @Override
    public OptionalOperationMessage touch(Object hint) {
        super.touch(hint);
        return this;
    }

    @Override
    public String toString() {
        return "OptionalOperationMessage("
                + (isReply ? "reply" : "call")
                + " 0x"
                + Integer.toHexString(xid)
                + ", type 0x"
                + Integer.toHexString(type)
                + ", "
                + information.length
                + " bytes, payload "
                + content()
                + ')';
    }
}
