// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/**
 * A program for tests: arguments and results are a name, which stays in the payload, and data, which is eligible. The
 * word before the name of a call says how many bytes the results may have, 0 for a bound that is too low on purpose.
 */
final class BlobBinding implements UpperLayerBinding {

    static final int PROGRAM = 0x20005678;
    static final int GET = 1;

    /** Not idempotent. */
    static final int APPEND = 2;

    /** The bound of results that pretend to be short. */
    static final int SHORT = 100;

    private final boolean isOpen;

    BlobBinding() {
        this(false);
    }

    /** Perhaps one that does not know how long results can get. */
    BlobBinding(boolean isOpen) {
        this.isOpen = isOpen;
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
        return procedure == GET;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        in.skip(4);
        in.opaque(1 << 20);
        in.eligibleOpaque(1 << 24);
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        in.opaque(1 << 20);
        in.eligibleOpaque(1 << 24);
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits)
            throws MalformedMessageException {
        long maximum = arguments.uint32();
        limits.results(SHORT);
        if (isOpen) {
            limits.unbounded();
        }
        if (maximum > 0) {
            limits.sink(maximum);
        }
    }

    /** A call up to its data, the count word included. */
    static ByteBuf call(int procedure, int maximum, int nameLength, int dataLength) {
        ByteBuf out = Rpc.call(0, PROGRAM, 1, procedure).writeInt(maximum);
        return Rpc.opaque(out, Rpc.random(nameLength)).writeInt(dataLength);
    }

    static ByteBuf call(int procedure, int maximum, int nameLength, byte[] data) {
        ByteBuf out = call(procedure, maximum, nameLength, data.length);
        return out.writeBytes(data).writeZero(-data.length & 3);
    }

    static ByteBuf reply(int xid, int nameLength, byte[] data) {
        return Rpc.opaque(Rpc.opaque(Rpc.reply(xid), Rpc.random(nameLength)), data);
    }
}
