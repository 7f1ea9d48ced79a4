// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Device;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;

/** Replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04) from one RPC handler to the other. */
class ReadChunkReplyTest {

    private static void awaitNothingWaits(RpcPair pair, int completions) throws Exception {
        pair.awaitValue(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, completions);
        assertThat(
                        on(
                                pair.serverChannel,
                                () -> pair.serverConnection().responder().waiting().count()))
                .isZero();
        assertThat(
                        on(
                                pair.serverChannel,
                                () -> pair.serverConnection().responder().waiting().bytes()))
                .isZero();
    }

    /** In so many direct components. */
    private static ByteBuf inPieces(byte[] bytes, int pieces) {
        CompositeByteBuf whole = Unpooled.compositeBuffer(pieces);
        for (int i = 0; i < pieces; i++) {
            int from = (int) ((long) bytes.length * i / pieces);
            int to = (int) ((long) bytes.length * (i + 1) / pieces);
            whole.addComponent(
                    true, Unpooled.directBuffer(to - from).writeBytes(bytes, from, to - from));
        }
        return whole;
    }

    @ParameterizedTest
    @CsvSource({
        "0, 4069, true",
        "0, 100000, true",
        "1, 4072, false",
        "1, 4000000, false",
        "3, 50001, false",
        "8, 50000, false",
        "9, 50000, true",
        "400, 100000, true"
    })
    @Proves({"RR-02", "RR-05", "RR-07", "RR-08", "RR-16", "RR-22", "API-07", "OLD-24"})
    void aReplyOfAnyLength(int pieces, int length, boolean isCopied) throws Exception {
        try (RpcPair pair = RpcPair.of(ReadChunks.config(), ReadChunks.config())) {
            pair.call(Rpc.echo(0x77, 8));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(ReadChunks.reply(0x77, length));
            ByteBuf written = pieces == 0 ? Unpooled.wrappedBuffer(reply) : inPieces(reply, pieces);
            pair.reply(written).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            awaitNothingWaits(pair, 1);
            assertThat(written.refCnt()).isZero();
            RpcRdmaConnection client = pair.clientConnection();
            assertThat(client.value(RpcRdmaCounter.REPLY_CHUNK_CALLS)).isZero();
            assertThat(client.value(RpcRdmaCounter.READ_CHUNK_REPLIES)).isEqualTo(1);
            assertThat(client.value(RpcRdmaCounter.READ_BYTES)).isEqualTo(length);
            assertThat(client.value(RpcRdmaCounter.PULL_COMPLETIONS_SENT)).isEqualTo(1);
            RpcRdmaConnection server = pair.serverConnection();
            assertThat(server.value(RpcRdmaCounter.COPIED_BYTES)).isEqualTo(isCopied ? length : 0);
            // One handle goes with the completion, if the device lets it; several are
            // invalidated here.
            int handles = isCopied ? 1 : pieces;
            int remote = handles == 1 && Device.can("remoteInvalidation") ? 1 : 0;
            assertThat(server.value(RpcRdmaCounter.REMOTE_INVALIDATIONS)).isEqualTo(remote);
            assertThat(server.value(RpcRdmaCounter.LOCAL_INVALIDATIONS))
                    .isEqualTo(handles - remote);
            assertThat(on(pair.clientChannel, () -> client.value(RpcRdmaGauge.READ_BYTES_HELD)))
                    .isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "IF_NEEDED, 4048, none",
        "IF_NEEDED, 4052, reply",
        "IF_NEEDED, 65000, reply",
        "IF_NEEDED, 70000, read",
        "IF_BOUNDED, 4068, none",
        "IF_BOUNDED, 4072, read",
        "NEVER, 4068, none",
        "NEVER, 4072, read"
    })
    @Proves({"RR-05", "RR-25", "RR-26", "RR-31"})
    void theResponderChoosesTheForm(ReplyChunks when, int length, String form) throws Exception {
        RpcRdmaConfig client = ReadChunks.builder(when).build();
        try (RpcPair pair = RpcPair.of(client, ReadChunks.config())) {
            pair.call(Rpc.echo(0x78, 8));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(ReadChunks.reply(0x78, length));
            pair.reply(Unpooled.wrappedBuffer(reply)).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            RpcRdmaConnection connection = pair.clientConnection();
            assertThat(connection.value(RpcRdmaCounter.LONG_REPLIES))
                    .isEqualTo("reply".equals(form) ? 1 : 0);
            assertThat(connection.value(RpcRdmaCounter.READ_CHUNK_REPLIES))
                    .isEqualTo("read".equals(form) ? 1 : 0);
            if (!"reply".equals(form)) {
                assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT)).isZero();
            }
        }
    }

    /** The bound of READDIR is known; a call says for itself what it expects; so does one that is tried again. */
    @Test
    @Proves({"RR-26", "RR-28"})
    void aKnownBoundGetsAReplyChunk() throws Exception {
        RpcRdmaConfig client = ReadChunks.builder(ReplyChunks.IF_BOUNDED).build();
        try (RpcPair pair = RpcPair.rawServer(client, ReadChunks.config());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.readdir3(1, 8192));
            server.take();
            assertThat(server.header.reply().chunkLength()).isGreaterThan(8192);
            server.send(server.mirrored(0), Rpc.reply(1));
            pair.client.takeBytes();
            pair.call(new RpcMessage(Rpc.echo(2, 8)).maximumReply(9000));
            server.take();
            assertThat(server.header.reply().chunkLength()).isEqualTo(9000);
            // More than could be taken in a Reply chunk: nothing is refused, the reply is
            // likely shorter.
            pair.call(Rpc.readdir3(3, 600 << 20));
            server.take();
            assertThat(server.header.reply().isPresent()).isFalse();
            // More than the share of one call: it would be taken from the others beforehand.
            pair.call(Rpc.readdir3(4, 100 << 20));
            server.take();
            assertThat(server.header.reply().isPresent()).isFalse();
        }
        try (RpcPair pair = RpcPair.rawServer(ReadChunks.config(), ReadChunks.config());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.readdir3(1, 8192));
            server.take();
            assertThat(server.header.reply().isPresent()).isFalse();
        }
    }

    /** Write chunks are used as before; only what is left of the payload stream is read. */
    @ParameterizedTest
    @EnumSource(names = {"LONG_REPLY", "LONG_BOTH", "ALL_CHUNKS", "UNUSED_CHUNKS", "WRITE_CHUNK"})
    @Proves({"RR-04", "RR-25"})
    void writeChunksAreStillUsed(Form form) throws Exception {
        try (RpcPair pair = RpcPair.of(ReadChunks.config(), ReadChunks.config())) {
            int xid = form.xids() | 5;
            pair.call(form.call(xid));
            pair.server.takeBytes();
            byte[] reply = Rpc.bytes(form.reply(xid));
            pair.reply(form.answer(xid)).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            boolean isPlaced = form == Form.ALL_CHUNKS || form == Form.WRITE_CHUNK;
            boolean isRead = form != Form.UNUSED_CHUNKS && form != Form.WRITE_CHUNK;
            RpcRdmaConnection connection = pair.clientConnection();
            long placed = connection.value(RpcRdmaCounter.WRITE_BYTES_RECEIVED);
            long read = connection.value(RpcRdmaCounter.READ_BYTES);
            assertThat(placed > 0).isEqualTo(isPlaced);
            assertThat(read > 0).isEqualTo(isRead);
            if (form == Form.ALL_CHUNKS) {
                assertThat(placed + read)
                        .isLessThanOrEqualTo(reply.length)
                        .isGreaterThan(reply.length - 8);
            }
            assertThat(connection.value(RpcRdmaCounter.READ_CHUNK_REPLIES))
                    .isEqualTo(isRead ? 1 : 0);
        }
    }

    /** Off at either end: as version 1 says. */
    @Test
    @Proves({"RR-01", "RR-06", "API-18"})
    void withoutAgreementThereAreNone() throws Exception {
        RpcRdmaConfig off = RpcPair.usual().announceReadChunkReplies(false).build();
        assertThat(off.readChunkReplies()).isNull();
        try (RpcPair pair = RpcPair.of(ReadChunks.config(), off)) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeBytes();
            ChannelFuture reply = pair.reply(ReadChunks.reply(1, 5000));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThatThrownBy(reply::sync).isInstanceOf(OutboundReplyTooLongException.class);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CHUNK_ERRORS_SENT))
                    .isEqualTo(1);
        }
    }

    @Test
    @Proves({"API-18"})
    void limitsAreChecked() {
        assertThatThrownBy(() -> ReadChunkReplyConfig.DEFAULT.withMaxWaiting(0))
                .hasMessageContaining("maxWaiting: 0 (expected: 1 to 65535)");
        assertThatThrownBy(() -> ReadChunkReplyConfig.DEFAULT.withMaxWaitingBytes(1023))
                .hasMessageContaining("maxWaitingBytes: 1023");
        assertThatThrownBy(() -> ReadChunkReplyConfig.DEFAULT.withCompletionTimeoutMillis(0))
                .hasMessageContaining("completionTimeoutMillis: 0");
    }

    /** A call without memory for its reply costs nothing when it is given up. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @Proves({"RR-11", "RR-26", "RR-30", "SEC-14"})
    void aCancelledCallCostsOnePullCompletion(boolean fences) throws Exception {
        try (RpcPair pair = RpcPair.of(ReadChunks.config(), ReadChunks.config())) {
            long before = on(pair.clientChannel, pair.clientChannel::registeredBytesInUse);
            for (int xid = 1; xid <= 20; xid++) {
                int cancelled = xid;
                pair.call(Rpc.echo(xid, 8)).sync();
                pair.server.takeBytes();
                pair.call(new RpcRdmaCancel(cancelled, fences)).sync();
                assertThat(on(pair.clientChannel, pair.clientChannel::registeredBytesInUse))
                        .isLessThanOrEqualTo(before); // receives are replaced in batches
                pair.reply(ReadChunks.reply(cancelled, 100_000)).sync();
                awaitNothingWaits(pair, xid);
            }
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_BYTES)).isZero();
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            pair.call(Rpc.echo(50, 8));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(ReadChunks.reply(50, 10_000));
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.client.messages).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"true, true, 1", "true, false, 0", "false, true, 0", "false, false, 0"})
    @Proves({"RR-17", "RR-18", "RR-19"})
    void remoteInvalidationNeedsBoth(boolean client, boolean server, int remote) throws Exception {
        try (RpcPair pair =
                RpcPair.of(
                        ReadChunks.builder(ReplyChunks.NEVER).remoteInvalidation(client).build(),
                        ReadChunks.builder(ReplyChunks.NEVER).remoteInvalidation(server).build())) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeBytes();
            pair.reply(ReadChunks.reply(1, 10_000));
            pair.client.takeBytes();
            awaitNothingWaits(pair, 1);
            RpcRdmaConnection connection = pair.serverConnection();
            int expected = Device.can("remoteInvalidation") ? remote : 0;
            assertThat(connection.value(RpcRdmaCounter.REMOTE_INVALIDATIONS)).isEqualTo(expected);
            assertThat(connection.value(RpcRdmaCounter.LOCAL_INVALIDATIONS))
                    .isEqualTo(1 - expected);
        }
    }
}
