// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;

/** Who may send what, and when; what no version of the header ever changes. */
class ConnectionRulesTest {

    private static RpcRdmaConfig credits(int requested, int granted) {
        return RpcRdmaConfig.builder().requestedCredits(requested).grantedCredits(granted).build();
    }

    @Test
    @Proves({"V1-CRED-11", "V1-EXT-03", "BIDI-25"})
    void nothingUnsolicitedComesFromAResponder() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            assertThatThrownBy(() -> pair.reply(Rpc.call(9, 0x40000000, 1, 1)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("allowReverseCalls");
            assertThatThrownBy(() -> pair.reply(Rpc.reply(9)).sync())
                    .isInstanceOf(IllegalStateException.class);
            for (int xid = 1; xid <= 3; xid++) {
                client.send(RawPeer.header(xid, 0), Rpc.echo(xid, 0));
                pair.server.takeBytes();
                pair.reply(Rpc.reply(xid));
                assertThatThrownBy(pair.reply(Rpc.reply(xid))::sync)
                        .isInstanceOf(IllegalStateException.class);
                client.take();
                assertThat(client.header.xid()).isEqualTo(xid);
            }
            assertThat(pair.client.messages).isEmpty();
        }
    }

    @Test
    @Proves({"V1-CRED-14", "V1-CRED-09"})
    void asManyReceivesAsWillBeGrantedArePostedFromTheStart() throws Exception {
        int grant = 32;
        try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), credits(128, grant));
                RawPeer client = RawPeer.client(pair)) {
            // One Send after the other, with nothing delivered in between.
            RpcPair.on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(false));
            for (int xid = 1; xid <= grant; xid++) {
                client.channel.write(RawPeer.message(RawPeer.header(xid, 0), Rpc.echo(xid, 0)));
            }
            client.channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            RpcPair.on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(true));
            for (int xid = 1; xid <= grant; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            pair.reply(Rpc.reply(1));
            client.take();
            assertThat(client.header.credit()).isEqualTo(grant);
        }
    }

    @Test
    @Proves("V1-CRED-10")
    void thereIsAReceiveForEachReplyOfTheCallsThatAreOut() throws Exception {
        int requested = 32;
        try (RpcPair pair = RpcPair.rawServer(credits(requested, 64), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(0, 0));
            server.take();
            server.send(new TransportHeader().set(0, 10_000, 0), Rpc.reply(0));
            pair.client.takeBytes();
            RpcPair.on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(false));
            for (int xid = 1; xid <= 100; xid++) {
                pair.clientChannel.write(Rpc.echo(xid, 0));
            }
            pair.clientChannel.flush();
            for (int xid = 1; xid <= requested; xid++) {
                server.take();
                assertThat(server.header.xid()).isEqualTo(xid);
            }
            RpcPair.settle(pair.clientChannel);
            assertThat(pair.server.messages).isEmpty();
            // All replies arrive before one of them is looked at.
            for (int xid = 1; xid <= requested; xid++) {
                server.channel.write(
                        RawPeer.message(new TransportHeader().set(xid, 1, 0), Rpc.reply(xid)));
            }
            server.channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            RpcPair.on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(true));
            for (int xid = 1; xid <= requested; xid++) {
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
        }
    }

    @Test
    @Proves({"V1-FRAME-06", "BIDI-02", "BIDI-05", "BIDI-29", "SEC-20"})
    void eitherSideSendsCallsAndRepliesAtAnyTime() throws Exception {
        RpcRdmaConfig config =
                RpcRdmaConfig.builder()
                        .reverseCredits(8)
                        .requestedCredits(8)
                        .grantedCredits(8)
                        .build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.openReverse(8);
            exchangeBothWays(pair, 0, 1);
            for (int round = 1; round <= 10; round++) {
                exchangeBothWays(pair, 8 * round, 8);
            }
        }
        // A reply that nobody waits for is no reason to answer, when something says that it is one.
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            client.send(RawPeer.header(5, 0), Rpc.reply(5));
            pair.openReverse(8);
            TransportHeader inReplyChunk = RawPeer.header(6, 1);
            inReplyChunk.reply().setPresent();
            inReplyChunk.reply().add(1, 100, 1);
            client.send(inReplyChunk, RawPeer.nothing());
            client.send(RawPeer.header(7, 0), Rpc.echo(7, 0));
            assertThat(pair.server.takeXid()).isEqualTo(7);
            assertThat(pair.client.messages).isEmpty();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID))
                    .isEqualTo(2);
        }
    }

    /** Calls of both directions, with credentials of their own, all out at once. */
    private static void exchangeBothWays(RpcPair pair, int first, int count) throws Exception {
        for (int xid = first; xid < first + count; xid++) {
            pair.clientChannel.write(credential(xid, 1));
            pair.serverChannel.write(credential(xid, 2));
        }
        pair.clientChannel.flush();
        pair.serverChannel.flush();
        for (int xid = first; xid < first + count; xid++) {
            assertThat(pair.server.takeBytes()).isEqualTo(ByteBufUtil.getBytes(credential(xid, 1)));
            assertThat(pair.client.takeBytes()).isEqualTo(ByteBufUtil.getBytes(credential(xid, 2)));
        }
        for (int xid = first; xid < first + count; xid++) {
            pair.clientChannel.write(Rpc.reply(xid).writeInt(2));
            pair.serverChannel.write(Rpc.reply(xid).writeInt(1));
        }
        pair.clientChannel.flush();
        pair.serverChannel.flush();
        for (int xid = first; xid < first + count; xid++) {
            assertThat(pair.server.takeBytes()).hasSize(28).endsWith(0, 0, 0, 2);
            assertThat(pair.client.takeBytes()).hasSize(28).endsWith(0, 0, 0, 1);
        }
    }

    private static ByteBuf credential(int xid, int user) {
        ByteBuf call = Unpooled.buffer().writeInt(xid).writeInt(0).writeInt(2);
        call.writeInt(0x40000000).writeInt(1).writeInt(1);
        call.writeInt(1).writeInt(20).writeZero(8).writeInt(user).writeInt(user).writeZero(4);
        return call.writeZero(8);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 7, 0x7FFFFFFF, -1})
    @Proves({"V1-EXT-01", "V1-EXT-02", "V1-ERR-15", "V1-HDR-01", "V1-HDR-15"})
    void errVersIsReadTheSameInEveryVersion(int version) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(0x77, 8));
            server.take();
            ByteBuf error = Unpooled.buffer().writeInt(0x77).writeInt(version).writeInt(8);
            server.send(error.writeInt(4).writeInt(1).writeInt(1).writeInt(9).writeZero(32));
            ErrVersReplyException failure = (ErrVersReplyException) pair.client.takeFailure();
            assertThat(failure.lowest()).isEqualTo(1);
            assertThat(failure.highest()).isEqualTo(9);
            // Version 1 is in the range, so the connection is of use still.
            pair.call(Rpc.echo(0x78, 8));
            server.take();
            // What follows the code of an ERR_CHUNK is nobody's.
            ByteBuf chunk = Unpooled.buffer().writeInt(0x78).writeInt(version).writeInt(8);
            server.send(chunk.writeInt(4).writeInt(2).writeZero(32));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
        }
    }

    /** Whatever the rest of a message of another version means, its first four words are where they always are. */
    @ParameterizedTest
    @CsvSource({"0, 0", "2, 0", "2, 5", "3, 77", "-1, -1", "7, 2", "9, 3"})
    @Proves({"V1-EXT-01", "V1-EXT-02", "V1-HDR-01", "V1-ERR-08", "V1-ERR-06"})
    void theFirstWordsOfAnyVersionAreUnderstood(int version, int proc) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), credits(128, 16));
                RawPeer client = RawPeer.client(pair)) {
            ByteBuf message = Unpooled.buffer().writeInt(0xCAFE0009).writeInt(version).writeInt(5);
            client.send(message.writeInt(proc).writeBytes(Rpc.random(40)));
            assertThat(ByteBufUtil.hexDump(pair.client.takeBytes()))
                    .isEqualTo(
                            String.format(
                                    "cafe0009%08x0000001000000004000000010000000100000001",
                                    version));
        }
    }
}
