// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import org.junit.jupiter.api.Test;

class CallBatchTest {

    private static final RpcRdmaConfig CONFIG = RpcPair.usual().build();

    @Test
    void goesWhenItIsHalfOfTheCallsAndWorthAFlush() {
        CallBatch batch = new CallBatch();
        for (int i = 1; i < 8; i++) {
            assertThat(batch.add(i)).as("call %d", i).isFalse();
        }
        assertThat(batch.add(8)).isTrue();
        batch.flushed();
        for (int i = 1; i < 32; i++) {
            assertThat(batch.add(64)).as("call %d of 64", i).isFalse();
        }
        assertThat(batch.add(64)).isTrue();
        assertThat(batch.add(64)).isTrue();
        batch.flushed();
        assertThat(batch.add(64)).isFalse();
    }

    /** The channel is the only one of its loop, which polls. */
    @Test
    void callsGoInPartsWhileTheRequesterWritesMore() throws Exception {
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            for (int xid = 1; xid <= 3; xid++) {
                pair.call(Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                pair.reply(Rpc.reply(xid)).sync();
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
            // What is posted leaves the buffer in another round.
            int flushed =
                    on(
                            pair.clientChannel,
                            () -> {
                                for (int xid = 101; xid <= 120; xid++) {
                                    pair.clientChannel.write(Rpc.echo(xid, 8));
                                }
                                return pair.clientChannel.unsafe().outboundBuffer().size();
                            });
            assertThat(flushed).isEqualTo(16); // 8, and 8 when 16 are out
            pair.clientChannel.flush();
            for (int xid = 101; xid <= 120; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
        }
    }
}
