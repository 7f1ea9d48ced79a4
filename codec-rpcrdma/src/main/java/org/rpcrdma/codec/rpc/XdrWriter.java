// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.ReferenceCounted;
import java.util.Objects;
import org.rpcrdma.codec.RpcMessage;

/**
 * Writes XDR (RFC 4506), with its padding, into the buffer of a message. {@link #writeItem} keeps data apart, in memory
 * of their own.
 *
 * <p>Borrows the buffer and appends to it. Not thread-safe.
 */
public final class XdrWriter {

    private static final int MAXIMUM_PADDING = 3;
    private static final int NO_MESSAGE = -1;

    private final ByteBuf out;

    /** Index of the XID in the buffer; {@link #NO_MESSAGE} where no items can be kept apart. */
    private final int start;

    /** {@code null} until there is an item. */
    private RpcMessage message;

    /** Bytes of all items, with round-up. */
    private int itemBytes;

    /**
     * A writer to a buffer.
     *
     * @param out appended to; stays the caller's
     */
    public XdrWriter(ByteBuf out) {
        this(out, NO_MESSAGE);
    }

    private XdrWriter(ByteBuf out, int start) {
        this.out = Objects.requireNonNull(out, "out");
        this.start = start;
    }

    /**
     * A writer of a message whose header was written.
     *
     * @param payload begins with the XID at its reader index; taken over by {@link #message} and {@link #release}
     */
    static XdrWriter ofMessage(ByteBuf payload) {
        return new XdrWriter(payload, payload.readerIndex());
    }

    /** What was written: an {@link RpcMessage} if there is an item, otherwise the buffer. Now the caller's. */
    ReferenceCounted message() {
        return message == null ? out : message;
    }

    void release() {
        message().release();
    }

    /**
     * {@return the buffer, borrowed: what is appended there follows what was written here}
     */
    public ByteBuf buffer() {
        return out;
    }

    /**
     * Writes an integer, signed or unsigned (RFC 4506, 4.1 and 4.2), or an enumeration (4.3).
     *
     * @param value 4 bytes
     * @return this writer
     */
    public XdrWriter writeInt(int value) {
        out.writeInt(value);
        return this;
    }

    /**
     * Writes a hyper integer, signed or unsigned (RFC 4506, 4.5).
     *
     * @param value 8 bytes
     * @return this writer
     */
    public XdrWriter writeLong(long value) {
        out.writeLong(value);
        return this;
    }

    /**
     * Writes a boolean (RFC 4506, 4.4), or whether optional data follow (4.19).
     *
     * @param value written as 1 or 0
     * @return this writer
     */
    public XdrWriter writeBoolean(boolean value) {
        out.writeInt(value ? 1 : 0);
        return this;
    }

    /**
     * Writes variable-length opaque data (RFC 4506, 4.10): length, bytes, padding.
     *
     * @param data copied
     * @return this writer
     */
    public XdrWriter writeOpaque(byte[] data) {
        out.writeInt(data.length);
        return writeFixedOpaque(data);
    }

    /**
     * Writes variable-length opaque data (RFC 4506, 4.10): length, bytes, padding.
     *
     * @param data its readable bytes are copied; stays the caller's, with its indices
     * @return this writer
     */
    public XdrWriter writeOpaque(ByteBuf data) {
        int length = data.readableBytes();
        out.writeInt(length).writeBytes(data, data.readerIndex(), length);
        return pad(length);
    }

    /**
     * Writes fixed-length opaque data (RFC 4506, 4.9): bytes and padding.
     *
     * @param data copied
     * @return this writer
     */
    public XdrWriter writeFixedOpaque(byte[] data) {
        out.writeBytes(data);
        return pad(data.length);
    }

    /**
     * Writes a string (RFC 4506, 4.11) in UTF-8.
     *
     * @param text of any length
     * @return this writer
     */
    public XdrWriter writeString(CharSequence text) {
        int at = out.writerIndex();
        out.writeInt(0);
        int length = ByteBufUtil.writeUtf8(out, text);
        out.setInt(at, length);
        return pad(length);
    }

    /**
     * Writes a value that writes itself.
     *
     * @param value appended
     * @return this writer
     */
    public XdrWriter write(XdrEncodable value) {
        value.writeTo(this);
        return this;
    }

    /**
     * Writes variable-length opaque data without a copy: their length goes into the buffer, the data stay where they
     * are, as an item of an {@link RpcMessage}. Over RDMA they are placed directly if they do not fit one Send (RFC
     * 8166, 3.4); on a stream they are written from their own memory. For data that are DDP-eligible by the upper-layer
     * binding of the program: others fail the message ({@link org.rpcrdma.codec.DdpEligibilityException}). A
     * writer of a plain buffer copies the data.
     *
     * @param data its readable bytes, taken over
     * @return this writer
     */
    public XdrWriter writeItem(ByteBuf data) {
        if (start == NO_MESSAGE) {
            try {
                return writeOpaque(data);
            } finally {
                data.release();
            }
        }
        int length = data.readableBytes();
        try {
            out.writeInt(length);
            if (message == null) {
                message = new RpcMessage(out);
            }
            message.addItem(out.writerIndex() - start + itemBytes, data);
        } catch (Throwable t) {
            data.release();
            throw t;
        }
        itemBytes += length + MAXIMUM_PADDING & ~MAXIMUM_PADDING;
        return this;
    }

    private XdrWriter pad(int length) {
        int padding = -length & MAXIMUM_PADDING;
        if (padding > 0) {
            out.writeZero(padding);
        }
        return this;
    }

    @Override
    public String toString() {
        return "XdrWriter(" + out.readableBytes() + " bytes, " + itemBytes + " in items)";
    }
}
