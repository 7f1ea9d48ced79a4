// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the header of an RPC call (RFC 5531, 9) before Hadoop's parser sees it: that one allocates what a length says
 * without a look at how much there is, and leaves calls unanswered that it does not understand.
 */
@ChannelHandler.Sharable
final class RpcCallCheck extends ChannelInboundHandlerAdapter {

    private static final Logger LOG = LoggerFactory.getLogger(RpcCallCheck.class);

    /** XID, message type, RPC version, program, version, procedure, then flavor and length of credential. */
    private static final int CREDENTIAL_OFFSET = 24;

    private static final int SHORTEST_CALL = 40;

    private static final int MACHINE_NAME_MAX = 255;
    private static final int GROUPS_MAX = 16;
    private static final int RPC_VERSION = 2;
    private static final int AUTH_BADCRED = 1;
    private static final int AUTH_REJECTEDCRED = 2;
    private static final int AUTH_BADVERF = 3;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf call = (ByteBuf) message;
        int start = call.readerIndex();
        int length = call.readableBytes();
        int xid = length < SHORTEST_CALL ? 0 : call.getInt(start);
        if (length < SHORTEST_CALL || !CallHeader.isIn(call)) {
            LOG.info("{} is closed: it sent {} bytes that are no RPC call", ctx.channel(), length);
            call.release();
            ctx.close();
        } else if (call.getInt(start + 8) != RPC_VERSION) {
            deny(ctx, call, ReplyHeader.rpcMismatch(xid, RPC_VERSION, RPC_VERSION));
        } else {
            int failure = checkAuthentication(call, start + CREDENTIAL_OFFSET, start + length);
            if (failure != 0) {
                deny(ctx, call, ReplyHeader.authError(xid, failure));
            } else {
                // Hadoop's parser takes positions for indexes.
                ctx.fireChannelRead(start == 0 ? call : call.slice());
            }
        }
    }

    /** @return 0 or an {@code auth_stat} (RFC 5531, 9) */
    private static int checkAuthentication(ByteBuf call, int credential, int end) {
        int flavor = call.getInt(credential);
        if (flavor != OpaqueAuth.AUTH_NONE && flavor != OpaqueAuth.AUTH_SYS) {
            return AUTH_REJECTEDCRED;
        }
        int length = call.getInt(credential + 4);
        int body = credential + 8;
        if (length < 0
                || length > OpaqueAuth.MAXIMUM_BODY
                || body + length + 8 > end
                || (length & 3) != 0) {
            return AUTH_BADCRED;
        }
        if (flavor == OpaqueAuth.AUTH_NONE ? length != 0 : !isAuthSys(call, body, length)) {
            return AUTH_BADCRED;
        }
        int verifier = body + length;
        int verifierFlavor = call.getInt(verifier);
        if ((verifierFlavor != OpaqueAuth.AUTH_NONE && verifierFlavor != OpaqueAuth.AUTH_SYS)
                || call.getInt(verifier + 4) != 0) {
            return AUTH_BADVERF;
        }
        return 0;
    }

    /** Stamp, machine name, user, group and more groups (RFC 5531, appendix A), without taking them out. */
    private static boolean isAuthSys(ByteBuf call, int body, int length) {
        if (length < 20) {
            return false;
        }
        int name = call.getInt(body + 4);
        if (name < 0 || name > MACHINE_NAME_MAX) {
            return false;
        }
        int groupsOffset = 8 + (name + 3 & ~3) + 8;
        if (groupsOffset + 4 > length) {
            return false;
        }
        int groups = call.getInt(body + groupsOffset);
        return groups >= 0 && groups <= GROUPS_MAX && groupsOffset + 4 + 4 * groups == length;
    }

    private static void deny(ChannelHandlerContext ctx, ByteBuf call, ReplyHeader denial) {
        call.release();
        ByteBuf reply = ctx.alloc().buffer(denial.encodedBytes());
        denial.writeTo(reply);
        ctx.writeAndFlush(reply);
    }
}
