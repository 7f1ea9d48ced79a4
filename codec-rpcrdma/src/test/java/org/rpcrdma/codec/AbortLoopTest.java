// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;

/**
 * A user who starts calls and gives them up, again and again, on a connection that others use too (RFC 8166, 8.1.4).
 */
class AbortLoopTest {

    @Test
    @Proves("SEC-14")
    void abortsAreCountedKeepTheConnectionAndDoNotStormTheResponder() throws Exception {
        int aborts = 8;
        RpcRdmaConfig config = RpcRdmaConfig.builder().bindings(List.of(new BlobBinding())).build();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try (ScriptedResponder responder = ScriptedResponder.manual(config)) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(group, responder.address())
                            .config(config)
                            .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                            .build();
            exchange(client, responder);
            for (int i = 0; i < aborts; i++) {
                Future<?> call =
                        client.call(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]));
                ScriptedResponder.Call received = responder.take();
                assertThat(call.cancel(false)).isTrue();
                int cancelled = i + 1;
                await().until(
                                () ->
                                        client.metrics().value(RpcRdmaCounter.CALLS_CANCELLED)
                                                == cancelled);
                received.reply(BlobBinding.reply(0, 4, Rpc.random(9000)));
            }
            exchange(client, responder);
            assertThat(responder.accepted).hasSize(1);

            // When the connection goes in spite of that, the next one waits its time.
            responder.accepted.get(0).close().sync();
            // Until the client has seen it, it would send on what is lost.
            await().until(() -> client.metrics().connections() == 0);
            Future<?> next =
                    client.call(
                            Rpc.echo(0, 8),
                            CallOptions.DEFAULT.withTimeout(Duration.ofMillis(100)));
            assertThat(next.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(next.cause()).isInstanceOf(CallTimeoutException.class);
            assertThat(((CallTimeoutException) next.cause()).isSent()).isFalse();
            assertThat(responder.accepted).hasSize(1);
            client.closeAsync().sync();
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    private static void exchange(RpcRdmaClient client, ScriptedResponder responder)
            throws Exception {
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        call.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).release();
    }
}
