// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;

/** A responder that says it has written a result, and has not: with {@code clearSinks} nothing of others is there. */
class UnwrittenSinkTest {

    private static final int LENGTH = 20_000;

    private enum Chunk {
        WRITE {
            @Override
            void claim(RpcPair pair, RawPeer server, byte[] data, boolean isWritten)
                    throws Exception {
                pair.call(Rpc.read3(7, LENGTH));
                server.take();
                TransportHeader reply = server.mirrored(TransportHeader.RDMA_MSG);
                if (isWritten) {
                    server.write(reply.writes().handle(0), reply.writes().offset(0), data);
                }
                reply.writes().length(0, LENGTH);
                server.send(reply, Rpc.read3Reply(7, data).writerIndex(24 + 8 + 84 + 12));
            }
        },
        REPLY {
            @Override
            void claim(RpcPair pair, RawPeer server, byte[] data, boolean isWritten)
                    throws Exception {
                pair.call(Rpc.readdir3(7, LENGTH));
                server.take();
                TransportHeader reply = server.mirrored(TransportHeader.RDMA_NOMSG);
                byte[] start = Rpc.bytes(Rpc.reply(7));
                int handle = reply.reply().handle(0);
                server.write(handle, reply.reply().offset(0), start);
                if (isWritten) {
                    server.write(handle, reply.reply().offset(0) + start.length, data);
                }
                reply.reply().length(0, start.length + LENGTH);
                server.send(reply, RawPeer.nothing());
            }
        };

        abstract void claim(RpcPair pair, RawPeer server, byte[] data, boolean isWritten)
                throws Exception;
    }

    @ParameterizedTest
    @EnumSource(Chunk.class)
    @Proves("SEC-26")
    void holdsZerosWhenThatIsWanted(Chunk chunk) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.builder().clearSinks(true).build();
        byte[] data = new byte[LENGTH];
        Arrays.fill(data, (byte) 0x77);
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            chunk.claim(pair, server, data, true);
            assertThat(count(pair.client.takeBytes())).isEqualTo(LENGTH);
            // The same memory, as likely as not.
            for (int i = 0; i < 20; i++) {
                chunk.claim(pair, server, data, false);
                assertThat(count(pair.client.takeBytes())).isZero();
            }
        }
    }

    private static int count(byte[] reply) {
        int count = 0;
        for (int i = reply.length - LENGTH; i < reply.length; i++) {
            count += reply[i] == 0x77 ? 1 : 0;
        }
        return count;
    }
}
