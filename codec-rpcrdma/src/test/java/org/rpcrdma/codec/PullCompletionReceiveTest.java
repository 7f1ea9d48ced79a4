// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.internal.ChannelInternals;

/**
 * A requester whose credits all wait for the arrival of pull completions may send one call more, since only a reply
 * tells of it (reliable reply draft, 5.2.3). Whoever sends such replies by announcement has a receive for that call,
 * whatever the grant.
 */
// Replies in Read chunks are announced by the private data of both ends.
@NeedsDevice("privateDataOnAccept")
class PullCompletionReceiveTest {

    @ParameterizedTest
    @CsvSource({
        "1, 0, false",
        "1, 0, true",
        "1, 2, false",
        "1, 2, true",
        "4, 0, true",
        "4, 3, true"
    })
    @Proves({"RR-20", "RR-34"})
    void thereIsOneReceiveMoreThanCallsWereGranted(int granted, int reverse, boolean isAdaptive)
            throws Exception {
        RpcRdmaConfig.Builder server =
                RpcPair.usual().grantedCredits(granted).reverseCredits(reverse);
        if (isAdaptive) {
            server.creditPolicy(CreditPolicy.adaptive(1));
        }
        RpcRdmaConfig client = RpcPair.usual().reverseCredits(reverse).build();
        try (RpcPair pair = RpcPair.of(client, server.build())) {
            for (int xid = 1; xid <= 2 * granted; xid++) {
                pair.call(Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                check(pair);
                pair.reply(Unpooled.wrappedBuffer(LongReplyTest.reply(xid, 1 << 20)));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
                check(pair);
            }
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_REPLIES))
                    .isEqualTo(2L * granted);
        }
    }

    private static void check(RpcPair pair) throws Exception {
        int spare =
                RpcPair.on(
                        pair.serverChannel,
                        () ->
                                ChannelInternals.of(pair.serverChannel).keptReceives()
                                        - pair.serverConnection()
                                                .responder()
                                                .credits()
                                                .outstanding());
        assertThat(spare).isPositive();
    }
}
