// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * An input of the targets that are connections: four bytes that choose what the two sides are configured for, then
 * steps, one after the other. A step is what, an argument, the length of its data in two bytes, and the data. Any bytes
 * are a script.
 *
 * <p>Who writes a script cannot know which XIDs and handles there will be, so some words of the data stand for those
 * that there are by then: {@link #xid}, {@link #own} and {@link #theirs}.
 */
record FuzzScript(int variant, List<Step> steps) {

    enum Op {
        /** The peer sends the data. Argument: {@link #AT_ONCE}, {@link #INVALIDATES} and the number of the handle. */
        SEND,
        /** The upper layer calls. Argument: which kind of call. */
        CALL,
        /** The upper layer answers. Argument: which of the calls it holds. Data: how long the reply is. */
        REPLY,
        /**
         * The upper layer gives a call up. Argument: which of those that are out; with the highest bit it does
         * not fence.
         */
        CANCEL,
        /** The upper layer calls an optional operation. Argument: which. Data: its information. */
        OPTION,
        /** The upper layer answers an optional operation that it has held back. */
        ANSWER,
        /** The peer exposes the data. */
        EXPOSE,
        /** The peer reads what a reply offers. Argument: which of those that were offered. */
        PULL,
        /** The peer answers a call as it should. Argument: which of those that have come. Data: the results. */
        MIRROR,
        /** The peer writes the data. Argument: the number of the handle. */
        PUSH,
        /** The connection is closed. Argument: even by the upper layer, odd by the peer. */
        CLOSE,
        /** The time for pull completions is over. */
        EXPIRE
    }

    /**
     * The next step does not wait until this one has come to an end: another message is sent at once, anything else is
     * done when the message has arrived.
     */
    static final int AT_ONCE = 1;

    static final int INVALIDATES = 2;

    static final int NOT_FENCED = 0x80;

    private static final List<Op> OPS = List.of(Op.values());
    private static final int MOST_STEPS = 40;
    private static final int XID = 0x58490000;
    private static final int OWN = 0x48440000;
    private static final int THEIRS = 0x57430000;

    /** Data is not compared: the bytes are the script's own. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Step(Op op, int argument, byte[] data) {}

    static FuzzScript parse(byte[] input) {
        ByteBuf in = Unpooled.wrappedBuffer(input);
        List<Step> steps = new ArrayList<>();
        int variant = in.readableBytes() < 4 ? 0 : in.readInt();
        while (in.readableBytes() >= 4 && steps.size() < MOST_STEPS) {
            Op op = OPS.get(in.readUnsignedByte() % OPS.size());
            int argument = in.readUnsignedByte();
            byte[] data = new byte[Math.min(in.readUnsignedShort(), in.readableBytes())];
            in.readBytes(data);
            steps.add(new Step(op, argument, data));
        }
        return new FuzzScript(variant, steps);
    }

    /** Stands for the XID of the n-th call that has come to the peer. */
    static int xid(int n) {
        return XID | n;
    }

    /** Stands for the n-th handle that the peer has exposed; the offset after the length is counted from its begin. */
    static int own(int n) {
        return OWN | n;
    }

    /** Stands for the n-th handle that the peer was told of, likewise. */
    static int theirs(int n) {
        return THEIRS | n;
    }

    /** What the data stands for now. */
    interface Words {
        /** The XID of a call; the word itself when there is none. */
        int xid(int n, int word);

        /** A handle of this or the other side: null when there is none. */
        FuzzPeer.Range own(int n);

        FuzzPeer.Range theirs(int n);
    }

    static byte[] resolve(byte[] data, Words words) {
        ByteBuf out = Unpooled.wrappedBuffer(data.clone());
        for (int at = 0; at + 4 <= data.length; at += 4) {
            int word = out.getInt(at);
            int n = word & 0xffff;
            switch (word & 0xffff0000) {
                case XID -> out.setInt(at, words.xid(n, word));
                case OWN -> place(out, at, words.own(n));
                case THEIRS -> place(out, at, words.theirs(n));
                default -> {}
            }
        }
        return out.array();
    }

    private static void place(ByteBuf out, int at, FuzzPeer.Range range) {
        if (range == null) {
            return;
        }
        out.setInt(at, range.handle());
        if (at + 16 <= out.capacity()) {
            out.setLong(at + 8, out.getLong(at + 8) + range.offset());
        }
    }

    static Builder variant(int variant) {
        return new Builder(variant);
    }

    /** Writes a script. */
    static final class Builder {
        private final ByteBuf out = Unpooled.buffer();

        private Builder(int variant) {
            out.writeInt(variant);
        }

        Builder step(Op op, int argument, byte[] data) {
            out.writeByte(OPS.indexOf(op)).writeByte(argument).writeShort(data.length);
            out.writeBytes(data);
            return this;
        }

        Builder step(Op op, int argument) {
            return step(op, argument, new byte[0]);
        }

        Builder send(ByteBuf message) {
            return send(0, message);
        }

        Builder send(int argument, ByteBuf message) {
            return step(Op.SEND, argument, Rpc.bytes(message));
        }

        Builder send(TransportHeader header, ByteBuf payload) {
            return send(RawPeer.message(header, payload));
        }

        Builder call(int kind) {
            return step(Op.CALL, kind);
        }

        Builder reply(int held, int length) {
            return step(Op.REPLY, held, new byte[] {(byte) (length >>> 8), (byte) length});
        }

        byte[] bytes() {
            return Arrays.copyOf(out.array(), out.writerIndex());
        }
    }
}
