// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;

/** Who makes a call (RFC 5531, 8.2). Immutable, shared by any number of calls. */
public final class RpcCredential {

    private static final int AUTH_NONE = 0;
    private static final int AUTH_SYS = 1;

    /** Nobody. */
    public static final RpcCredential NONE = new RpcCredential(AUTH_NONE, Unpooled.EMPTY_BUFFER);

    private final int flavor;
    private final ByteBuf body;

    private RpcCredential(int flavor, ByteBuf body) {
        this.flavor = flavor;
        this.body = body;
    }

    /**
     * A user of this machine (AUTH_SYS, RFC 5531, appendix A).
     *
     * @param machine at most 255 bytes
     * @param groups at most 16
     */
    public static RpcCredential sys(String machine, int uid, int gid, List<Integer> groups) {
        ByteBuf body = Unpooled.buffer().writeInt(0);
        Xdr.writeString(body, machine);
        body.writeInt(uid).writeInt(gid).writeInt(groups.size());
        groups.forEach(body::writeInt);
        return new RpcCredential(AUTH_SYS, Unpooled.unreleasableBuffer(body.asReadOnly()));
    }

    /** The length of the body in bytes. */
    int length() {
        return body.readableBytes();
    }

    /** Appends flavor and body. */
    public void writeTo(ByteBuf out) {
        out.writeInt(flavor).writeInt(body.readableBytes());
        out.writeBytes(body, body.readerIndex(), body.readableBytes());
    }
}
