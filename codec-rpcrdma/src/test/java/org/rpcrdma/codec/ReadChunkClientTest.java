// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;

/** An {@link RpcRdmaClient} whose replies come in Read chunks, or do not. */
class ReadChunkClientTest {

    private static final RpcRdmaConfig OFF =
            RpcPair.usual()
                    .bindings(List.of(new BlobBinding()))
                    .announceReadChunkReplies(false)
                    .build();

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(2);
    private ScriptedResponder responder;
    private RpcRdmaClient client;

    @AfterEach
    void close() {
        if (client != null) {
            client.closeAsync().awaitUninterruptibly();
        }
        if (responder != null) {
            responder.close();
        }
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    private static RpcRdmaConfig config(ReplyChunks when) {
        return RpcPair.usual()
                .bindings(List.of(new BlobBinding()))
                .defaultMaximumReply(0)
                .readChunkReplies(ReadChunkReplyConfig.DEFAULT.withReplyChunks(when))
                .build();
    }

    private void answering(RpcRdmaConfig server, RpcRdmaConfig requester, int length)
            throws Exception {
        script(
                server,
                requester,
                (channel, connection, call) ->
                        channel.writeAndFlush(
                                BlobBinding.reply(Rpc.xid(call), length, new byte[0])));
    }

    private void script(
            RpcRdmaConfig server, RpcRdmaConfig requester, ScriptedResponder.Script script)
            throws Exception {
        responder = new ScriptedResponder(server, script);
        client =
                RpcRdmaClient.builder(group, responder.address())
                        .config(requester)
                        .backOff(Duration.ofMillis(1), Duration.ofMillis(5))
                        .firstCallTimeout(Duration.ofSeconds(1_000))
                        .build();
    }

    private Future<ByteBuf> call() {
        return client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]));
    }

    private static byte[] get(Future<ByteBuf> future) throws Exception {
        return Rpc.bytes(future.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS));
    }

    private static ErrChunkReplyException refused(Future<?> future) throws Exception {
        assertThat(future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(future.cause()).isInstanceOf(ErrChunkReplyException.class);
        return (ErrChunkReplyException) future.cause();
    }

    /** The binding is wrong by far, and nobody has said how long an unknown reply may get: it comes at once. */
    @Test
    @Proves({"API-07", "RR-26"})
    void noCallHasToGrow() throws Exception {
        RpcRdmaConfig config = config(ReplyChunks.NEVER);
        answering(config, config, 1_000_000);
        assertThat(get(call())).hasSize(24 + 1_000_004 + 4);
        assertThat(responder.calls).hasSize(1);
        assertThat(client.metrics().value(RpcRdmaCounter.CALLS_REPEATED)).isZero();
        assertThat(client.metrics().value(RpcRdmaCounter.REPLY_CHUNK_CALLS)).isZero();
    }

    /** There is nothing to offer more of; that the responder had no memory for a moment is tried once. */
    @Test
    @Proves({"RR-06", "RR-26"})
    void withoutAReplyChunkARefusedCallIsRepeatedOnce() throws Exception {
        answering(OFF, config(ReplyChunks.NEVER), 100_000);
        assertThat(refused(call()).replyBytes()).isZero();
        assertThat(responder.calls).hasSize(2);
    }

    /** A responder that was not configured after all costs some repetitions. */
    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves({"RR-06", "RR-26"})
    void aRefusedCallGrowsByAReplyChunk() throws Exception {
        RpcRdmaConfig config =
                RpcPair.usual()
                        .bindings(List.of(new BlobBinding(true)))
                        .defaultMaximumReply(0)
                        .readChunkReplies(
                                ReadChunkReplyConfig.DEFAULT.withReplyChunks(
                                        ReplyChunks.IF_BOUNDED))
                        .build();
        answering(OFF, config, 100_000);
        assertThat(get(call())).hasSize(24 + 100_004 + 4);
        assertThat(responder.calls).hasSize(6);
        Future<ByteBuf> unknown =
                client.call(
                        Rpc.echo(0, 8),
                        CallOptions.DEFAULT.withRepetition(CallOptions.Repetition.ALWAYS));
        assertThat(get(unknown)).hasSize(24 + 100_004 + 4);
    }

    /** Many given up, one connection, and it lives. */
    @Test
    @Proves({"SEC-14", "RR-11", "RR-30", "RR-21"})
    void cancelledCallsDoNotCostTheConnection() throws Exception {
        RpcRdmaConfig config = config(ReplyChunks.NEVER);
        script(config, config, (channel, connection, call) -> {});
        int calls = 200;
        for (int i = 0; i < calls; i++) {
            Future<ByteBuf> given = call();
            ScriptedResponder.Call received = responder.take();
            given.cancel(false);
            received.reply(BlobBinding.reply(0, 50_000, new byte[0]));
        }
        Future<ByteBuf> last = call();
        responder.take().reply(BlobBinding.reply(0, 50_000, new byte[0]));
        assertThat(get(last)).hasSize(24 + 50_004 + 4);
        assertThat(responder.accepted).hasSize(1);
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(
                        () ->
                                responder.metrics.value(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED)
                                        == calls + 1);
    }

    /** Its memory goes while the reply is being read, or before. */
    @Test
    @Proves({"RR-32", "RR-23"})
    void aReplyThatIsLostWithItsConnectionIsAskedForAgain() throws Exception {
        RpcRdmaConfig config = config(ReplyChunks.NEVER);
        script(
                config,
                config,
                (channel, connection, call) -> {
                    channel.writeAndFlush(BlobBinding.reply(Rpc.xid(call), 1_000_000, new byte[0]));
                    if (connection == 0) {
                        channel.close();
                    }
                });
        assertThat(get(call())).hasSize(24 + 1_000_004 + 4);
    }

    /** No pull completion, no replies in Read chunks: Reply chunks are offered, and refused replies are refused. */
    @Test
    @Proves({"RR-01", "RR-06"})
    void versionTwoHasNone() throws Exception {
        RpcRdmaConfig config =
                RpcPair.usual()
                        .readChunkReplies(
                                ReadChunkReplyConfig.DEFAULT.withReplyChunks(ReplyChunks.NEVER))
                        .versionTwo(VersionTwoConfig.defaults())
                        .build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.call(Rpc.echo(9, 8));
            int xid = pair.server.takeXid();
            while (xid != 9) {
                pair.reply(Rpc.reply(xid)).sync(); // the proposal
                xid = pair.server.takeXid();
            }
            assertThat(pair.clientConnection().version()).isEqualTo(2);
            byte[] reply = ByteBufUtil.getBytes(ReadChunks.reply(9, 60_000));
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_REPLIES)).isEqualTo(1);
            pair.call(Rpc.echo(10, 8));
            pair.server.takeXid();
            pair.reply(ReadChunks.reply(10, 70_000));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThat(
                            on(
                                    pair.serverChannel,
                                    () -> pair.serverConnection().responder().waiting().count()))
                    .isZero();
            // RDMA_DONE is no procedure of version 2.
            RpcRdmaConnection server = pair.serverConnection();
            pair.clientChannel
                    .pipeline()
                    .firstContext()
                    .writeAndFlush(ReadChunks.done(11).setInt(4, 2).writeZero(16));
            Awaitility.await()
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> server.value(RpcRdmaCounter.CHUNK_ERRORS_SENT) >= 2);
            assertThat(server.value(RpcRdmaCounter.DROPPED_COMPLETIONS)).isZero();
        }
    }
}
