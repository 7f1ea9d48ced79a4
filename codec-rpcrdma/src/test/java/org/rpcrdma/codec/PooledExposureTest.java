// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RegistrationPolicy;

/**
 * Calls whose handles may be the same, because the device shares the key of a slab: on each device, the data are right.
 */
class PooledExposureTest {

    private static final int LENGTH = 20_000;

    @Test
    void callsThatAreOutTogetherMayShareAHandle() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            pair.clientChannel
                    .config()
                    .setOption(RdmaChannelOption.REGISTRATION, RegistrationPolicy.POOLED);
            pair.call(Rpc.read3(0x10, LENGTH));
            pair.server.takeBytes();
            // The first reply brings credits for more than one call.
            pair.reply(Unpooled.wrappedBuffer(reply(0x10)));
            assertThat(bytes(pair)).isEqualTo(reply(0x10));

            pair.call(Rpc.read3(0x11, LENGTH));
            pair.call(Rpc.read3(0x12, LENGTH));
            pair.server.takeBytes();
            pair.server.takeBytes();
            pair.reply(Unpooled.wrappedBuffer(reply(0x12)));
            assertThat(bytes(pair)).isEqualTo(reply(0x12));
            pair.reply(Unpooled.wrappedBuffer(reply(0x11)));
            assertThat(bytes(pair)).isEqualTo(reply(0x11));
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo(3 * LENGTH);
        }
    }

    private static byte[] bytes(RpcPair pair) throws InterruptedException {
        ByteBuf reply = pair.client.takeBuffer();
        return Rpc.bytes(reply);
    }

    private static byte[] reply(int xid) {
        return ByteBufUtil.getBytes(Rpc.read3Reply(xid, Rpc.random(LENGTH)));
    }
}
