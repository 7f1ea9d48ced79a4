// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Random;
import java.util.SplittableRandom;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * The program of simulations. Arguments are the number of the call, how many bytes it wants, after how many
 * milliseconds, and an eligible opaque; results are the number and an eligible opaque.
 */
final class SimulatedProgram implements UpperLayerBinding {

    static final int PROGRAM = 0x30000070;

    /** The same without a binding. */
    static final int UNBOUND = 0x30000071;

    /** Results go into a sink. */
    static final int READ = 1;

    /** Arguments may go in a Read chunk; results are short. */
    static final int WRITE = 2;

    /** Results may go in a Reply chunk. */
    static final int COPY = 3;

    /** As WRITE, not idempotent. */
    static final int APPEND = 4;

    /** Says that reverse calls may come on this connection. */
    static final int READY = 5;

    static final int SINK = 16_000;
    static final int LONGEST_COPY = 60_000;
    static final int SHORT = 1000;
    static final int CALL_BYTES = 40;
    static final int REPLY_BYTES = 24;

    /** Data of calls are parts of it. */
    private static final byte[] RANDOM = new byte[1 << 20];

    static {
        new Random(1).nextBytes(RANDOM);
    }

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == 1;
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return procedure != APPEND;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        in.skip(12);
        in.eligibleOpaque(1 << 24);
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        in.skip(4);
        in.eligibleOpaque(1 << 24);
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        switch (procedure) {
            case READ -> {
                limits.results(8);
                limits.sink(SINK);
            }
            case COPY -> limits.results(8 + LONGEST_COPY);
            default -> limits.results(8 + SHORT);
        }
    }

    // ------------------------------------------------------------------ messages

    /** A call without arguments (RFC 5531, 9); whoever sends it sets the XID. */
    static ByteBuf call(int program, int procedure) {
        ByteBuf out = Unpooled.buffer().writeInt(0).writeInt(0).writeInt(2);
        return out.writeInt(program).writeInt(1).writeInt(procedure).writeZero(16);
    }

    static ByteBuf reply(int xid) {
        return Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(0).writeZero(12);
    }

    static ByteBuf opaque(ByteBuf out, byte[] data) {
        return out.writeInt(data.length).writeBytes(data).writeZero(-data.length & 3);
    }

    /** The data of a call, or of a reply, follows from its number. */
    static byte[] data(int number, int length) {
        int start = new SplittableRandom(number * 31L + length).nextInt(RANDOM.length - length);
        return Arrays.copyOfRange(RANDOM, start, start + length);
    }

    /** The whole message of one that came in parts. */
    static byte[] whole(RpcMessage message) {
        ByteBuf out = Unpooled.buffer();
        ByteBuf content = message.content();
        int read = 0;
        for (int i = 0; i < message.items(); i++) {
            int inline = message.itemPosition(i) - out.readableBytes();
            out.writeBytes(content, content.readerIndex() + read, inline);
            read += inline;
            ByteBuf item = message.item(i);
            out.writeBytes(item, item.readerIndex(), item.readableBytes());
            out.writeZero(-item.readableBytes() & 3);
        }
        out.writeBytes(content, content.readerIndex() + read, content.readableBytes() - read);
        byte[] bytes = ByteBufUtil.getBytes(out);
        out.release();
        return bytes;
    }
}
