// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.Proves;

/** Memory that may only be read, as of a mapped file: it goes wherever other memory goes. */
class ReadOnlyMessagesTest {

    private enum View {
        /** Of a writable buffer. */
        OF_A_BUFFER {
            @Override
            ByteBuf of(byte[] bytes) {
                return Unpooled.directBuffer(bytes.length).writeBytes(bytes).asReadOnly();
            }
        },
        /** Of a buffer that nobody can write to. */
        OF_NIO {
            @Override
            ByteBuf of(byte[] bytes) {
                return Unpooled.wrappedBuffer(
                        ByteBuffer.allocateDirect(bytes.length)
                                .put(bytes)
                                .flip()
                                .asReadOnlyBuffer());
            }
        };

        abstract ByteBuf of(byte[] bytes);
    }

    @ParameterizedTest
    @CsvSource({
        "OF_A_BUFFER, 100",
        "OF_A_BUFFER, 5000",
        "OF_A_BUFFER, 16384",
        "OF_A_BUFFER, 65000",
        "OF_NIO, 100",
        "OF_NIO, 5000",
        "OF_NIO, 16384",
        "OF_NIO, 65000"
    })
    @Proves({"API-10", "V1-LONG-04"})
    void everyWayOut(View view, int length) throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            byte[][] calls = {
                ByteBufUtil.getBytes(Rpc.echo(1, length)),
                ByteBufUtil.getBytes(Rpc.write3(2, Rpc.random(length))),
                ByteBufUtil.getBytes(Rpc.read3(3, length))
            };
            byte[][] replies = {
                ByteBufUtil.getBytes(Rpc.reply(1).writeBytes(Rpc.random(length))),
                ByteBufUtil.getBytes(Rpc.reply(2).writeInt(0).writeZero(132)),
                ByteBufUtil.getBytes(Rpc.read3Reply(3, Rpc.random(length)))
            };
            for (int i = 0; i < calls.length; i++) {
                ByteBuf call = view.of(calls[i]);
                pair.call(call);
                assertThat(pair.server.takeBytes()).isEqualTo(calls[i]);
                ByteBuf reply = view.of(replies[i]);
                pair.reply(reply).sync();
                assertThat(pair.client.takeBytes()).isEqualTo(replies[i]);
                assertThat(call.refCnt()).isZero();
                assertThat(reply.refCnt()).isZero();
            }
            assertThat(pair.clientChannel.isActive()).isTrue();
        }
    }
}
