// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.OptionalOperationHandler.Payload;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** Optional operations of version 2 (draft-cel-nfsv4-rpcrdma-version-two-01, 3). */
class OptionalOperationDispatcherTest {

    private static final int TYPE = 0xFFFF0001;
    private static final int WITH_MESSAGE = 0xFFFF0002;
    private static final int WITH_ANYTHING = 0xFFFF0003;
    private static final int UNKNOWN = 0xFFFF00FF;

    private final Recorder recorder = new Recorder(Payload.NONE);
    private final Recorder withMessage = new Recorder(Payload.RPC_MESSAGE);
    private final Recorder withAnything = new Recorder(Payload.ANY);
    private final RpcRdmaConfig config =
            RpcRdmaConfig.builder()
                    .requestedCredits(8)
                    .grantedCredits(16)
                    .versionTwo(
                            VersionTwoConfig.builder()
                                    .option(TYPE, recorder)
                                    .option(WITH_MESSAGE, withMessage)
                                    .option(WITH_ANYTHING, withAnything)
                                    .build())
                    .build();

    /** Keeps what comes, and answers calls with the information reversed; "wait" is not answered, "fail" throws. */
    private static final class Recorder implements OptionalOperationHandler {
        final BlockingQueue<String> received = new LinkedBlockingQueue<>();
        private final Payload payload;

        Recorder(Payload payload) {
            this.payload = payload;
        }

        @Override
        public Payload payload() {
            return payload;
        }

        @Override
        public void received(Channel channel, OptionalOperationMessage message) throws Exception {
            try {
                String text = new String(message.information(), StandardCharsets.US_ASCII);
                received.add(
                        (message.isReply() ? "reply " : "call ")
                                + message.xid()
                                + ' '
                                + text
                                + ' '
                                + message.content().readableBytes());
                if (text.equals("fail")) {
                    throw new IllegalArgumentException("no such thing");
                }
                if (!message.isReply() && !text.equals("wait")) {
                    byte[] reversed =
                            new StringBuilder(text)
                                    .reverse()
                                    .toString()
                                    .getBytes(StandardCharsets.US_ASCII);
                    ByteBuf answer =
                            payload == Payload.RPC_MESSAGE
                                    ? Rpc.reply(message.xid())
                                    : message.content().retainedDuplicate();
                    channel.writeAndFlush(message.reply(reversed, answer));
                }
            } finally {
                message.release();
            }
        }

        String take() throws InterruptedException {
            return received.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Both ends with the codec, in version 2. */
    private RpcPair settled(RpcRdmaConfig client) throws Exception {
        RpcPair pair = RpcPair.of(client, config);
        pair.call(Rpc.echo(1, 8));
        pair.reply(Rpc.reply(pair.server.takeXid()));
        pair.reply(Rpc.reply(pair.server.takeXid()));
        pair.client.takeXid();
        return pair;
    }

    private static ByteBuf option(int xid, int direction, int type, int length, ByteBuf rest) {
        ByteBuf out = Unpooled.buffer().writeInt(xid).writeInt(2).writeInt(32).writeInt(5);
        out.writeInt(direction).writeInt(type).writeInt(length).writeBytes(rest);
        rest.release();
        return out;
    }

    private static ByteBuf zeros(int length) {
        return Unpooled.buffer().writeZero(length);
    }

    private static ByteBuf error(int xid, int code) {
        return Unpooled.buffer().writeInt(xid).writeInt(2).writeInt(16).writeInt(4).writeInt(code);
    }

    // ------------------------------------------------------------------ both ends

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "ab", "abc", "abcd", "hello"})
    @Proves({"V2-EXT-02", "V2-EXT-05", "V2-DIR-04", "V2-DIR-05", "V2-HDR-07", "API-17"})
    void callAndReply(String information) throws Exception {
        String reversed = new StringBuilder(information).reverse().toString();
        try (RpcPair pair = settled(config)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text(information))).sync();
            assertThat(recorder.take()).isEqualTo("call 9 " + information + " 0");
            assertThat(recorder.take()).isEqualTo("reply 9 " + reversed + " 0");
            RpcPair.settle(pair.clientChannel);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            // Nothing of it is seen by those who handle RPC messages.
            assertThat(pair.client.messages).isEmpty();
            assertThat(pair.server.messages).isEmpty();
        }
    }

    @Test
    @Proves({"V2-HDR-07", "V2-DIR-03", "V2-EXT-05"})
    void payloads() throws Exception {
        try (RpcPair pair = settled(config)) {
            pair.call(OptionalOperationMessage.call(9, WITH_MESSAGE, text("ab"), Rpc.echo(9, 8)))
                    .sync();
            assertThat(withMessage.take()).isEqualTo("call 9 ab 48");
            assertThat(withMessage.take()).isEqualTo("reply 9 ba 24");
            ByteBuf part = Unpooled.buffer().writeZero(3);
            pair.call(OptionalOperationMessage.call(10, WITH_ANYTHING, text("ab"), part)).sync();
            assertThat(withAnything.take()).isEqualTo("call 10 ab 3");
            assertThat(withAnything.take()).isEqualTo("reply 10 ba 3");
        }
    }

    /** All of a message, a part of one, nothing: what the Sends are, both ways. */
    @ParameterizedTest
    @CsvSource({
        "ffff0002, '', 00000009000000000000000200000000",
        "ffff0002, 6162, 00000009000000000000000200000000",
        "ffff0003, 616263, 00000002",
        "ffff0003, 6162, 010203",
        "ffff0003, '', ''",
        "ffff0001, 61626364, ''"
    })
    @Proves({"V2-HDR-07", "V2-DIR-03", "V2-DIR-04", "V2-EXT-02"})
    void payloadsAsTheyAreSent(String type, String information, String payload) throws Exception {
        String body =
                String.format("%s%08x%s", type, information.length() / 2, information)
                        + "00".repeat(-information.length() / 2 & 3);
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            client.send(hex("00000009000000020000000800000005" + "00000000" + body + payload));
            String answer = new StringBuilder(fromHex(information)).reverse().toString();
            String replied =
                    "ffff0002".equals(type)
                            ? ByteBufUtil.hexDump(Rpc.bytes(Rpc.reply(9)))
                            : payload;
            assertThat(ByteBufUtil.hexDump(pair.client.takeBytes()))
                    .isEqualTo(
                            "00000009000000020000001000000005"
                                    + "00000001"
                                    + body.replace(information, toHex(answer))
                                    + replied);
        }
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(
                    OptionalOperationMessage.call(
                            9,
                            (int) Long.parseLong(type, 16),
                            ByteBufUtil.decodeHexDump(information),
                            hex(payload)));
            server.take();
            int probe = server.header.xid();
            server.send(
                    new TransportHeader().set(probe, 2, 16, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(probe));
            assertThat(ByteBufUtil.hexDump(pair.server.takeBytes()))
                    .isEqualTo("00000009000000020000000800000005" + "00000000" + body + payload);
        }
    }

    private static ByteBuf hex(String digits) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(digits));
    }

    private static String toHex(String text) {
        return ByteBufUtil.hexDump(text(text));
    }

    private static String fromHex(String digits) {
        return new String(ByteBufUtil.decodeHexDump(digits), StandardCharsets.US_ASCII);
    }

    @Test
    @Proves({"V2-DIR-05", "V2-EXT-05"})
    void anOptionHasACreditAndAnXidLikeOtherCalls() throws Exception {
        RpcRdmaConfig one =
                RpcRdmaConfig.builder().requestedCredits(1).versionTwo(config.versionTwo()).build();
        try (RpcPair pair = settled(one)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("wait"))).sync();
            assertThat(recorder.take()).isEqualTo("call 9 wait 0");
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            assertThatThrownBy(
                            () ->
                                    pair.call(OptionalOperationMessage.call(9, TYPE, text("x")))
                                            .sync())
                    .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> pair.call(Rpc.echo(9, 8)).sync())
                    .isInstanceOf(IllegalStateException.class);
            pair.call(Rpc.echo(10, 8));
            RpcPair.settle(pair.clientChannel);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.CALLS_QUEUED)).isPositive();
            assertThat(pair.server.messages).isEmpty();
            // An RPC reply is no answer to it.
            assertThatThrownBy(() -> pair.reply(Rpc.reply(9)).sync())
                    .isInstanceOf(IllegalStateException.class);
            pair.reply(OptionalOperationMessage.call(9, TYPE, text("")).reply(text("done"))).sync();
            assertThat(recorder.take()).isEqualTo("reply 9 done 0");
            assertThat(pair.server.takeXid()).isEqualTo(10);
            assertThatThrownBy(
                            () ->
                                    pair.reply(
                                                    OptionalOperationMessage.call(9, TYPE, text(""))
                                                            .reply(text("again")))
                                            .sync())
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    @Proves({"V2-EXT-05", "V2-ERR-04"})
    void aHandlerThatThrowsAnswersBadHeader() throws Exception {
        try (RpcPair pair = settled(config)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("fail"))).sync();
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThat(pair.server.errors).isEmpty();
            pair.call(Rpc.echo(10, 8));
            assertThat(pair.server.takeXid()).isEqualTo(10);
        }
    }

    @Test
    void whatIsTooLong() throws Exception {
        try (RpcPair pair = settled(config)) {
            assertThatThrownBy(
                            () ->
                                    pair.call(
                                                    OptionalOperationMessage.call(
                                                            9, TYPE, new byte[4096 - 27]))
                                            .sync())
                    .isInstanceOf(CallTooLongException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            pair.call(OptionalOperationMessage.call(9, TYPE, text("wait"))).sync();
            recorder.take();
            assertThatThrownBy(
                            () ->
                                    pair.reply(
                                                    OptionalOperationMessage.call(9, TYPE, text(""))
                                                            .reply(new byte[4096 - 27]))
                                            .sync())
                    .isInstanceOf(OutboundReplyTooLongException.class);
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
        }
    }

    @Test
    void whoWritesAnOptionIsTold() throws Exception {
        try (RpcPair pair = settled(config)) {
            assertThatThrownBy(
                            () ->
                                    pair.call(OptionalOperationMessage.call(9, UNKNOWN, text("")))
                                            .sync())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("0xffff00ff");
        }
        try (RpcPair pair = RpcPair.of(config, RpcRdmaConfig.defaults())) {
            // The first message may be an option; version 1 has none.
            assertThatThrownBy(
                            () ->
                                    pair.call(OptionalOperationMessage.call(9, TYPE, text("")))
                                            .sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("version 1");
        }
        assertThatThrownBy(
                        () ->
                                VersionTwoConfig.builder()
                                        .option(TYPE, recorder)
                                        .option(TYPE, withMessage))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anOptionThatWaitsOrIsOutIsGivenUp() throws Exception {
        try (RpcPair pair = settled(config)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("wait"))).sync();
            recorder.take();
            pair.call(new RpcRdmaCancel(9)).sync();
            pair.reply(OptionalOperationMessage.call(9, TYPE, text("")).reply(text("late"))).sync();
            pair.call(OptionalOperationMessage.call(10, TYPE, text("x"))).sync();
            assertThat(recorder.take()).isEqualTo("call 10 x 0");
            assertThat(recorder.take()).isEqualTo("reply 10 x 0");
            // Both ends may hold calls when the connection goes; the leak detector looks on.
            pair.call(OptionalOperationMessage.call(11, TYPE, text("wait"))).sync();
            recorder.take();
        }
    }

    // ------------------------------------------------------------------ responder

    @Test
    @Proves({"V2-EXT-03", "V2-ERR-01", "V2-HDR-07"})
    void anUnknownTypeIsRefused() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            client.send(option(0xCAFE000A, 0, UNKNOWN, 5, Unpooled.copiedBuffer(new byte[8])));
            assertThat(pair.client.takeBytes())
                    .isEqualTo(
                            ByteBufUtil.decodeHexDump("cafe000a00000002000000100000000400000003"));
            assertThat(pair.serverConnection().value(RpcRdmaCounter.OPTION_ERRORS_SENT)).isOne();
            // The same in a reply is dropped: an error could end a call of the other direction.
            client.send(option(0xCAFE000A, 1, UNKNOWN, 0, zeros(0)));
            client.send(option(2, 0, TYPE, 5, Unpooled.copiedBuffer(text("hello\0\0\0"))));
            ByteBuf reply = pair.client.takeBuffer();
            assertThat(ByteBufUtil.hexDump(reply))
                    .isEqualTo(
                            "00000002000000020000001000000005"
                                    + "00000001ffff0001000000056f6c6c6568000000");
            reply.release();
            assertThat(recorder.take()).isEqualTo("call 2 hello 0");
        }
    }

    @Test
    @Proves({"V2-HDR-01", "V2-DIR-04"})
    void goldenOption() {
        ByteBuf out = Unpooled.buffer();
        OptionalOperationMessage.call(0xCAFE000C, TYPE, text("hello")).encode(out, 32);
        assertThat(ByteBufUtil.hexDump(out))
                .isEqualTo(
                        "cafe000c000000020000002000000005"
                                + "00000000ffff00010000000568656c6c6f000000");
    }

    /** Direction, type, length of the information, bytes after it. */
    @ParameterizedTest
    @CsvSource({
        "2, FFFF0001, 0, 0",
        "FFFFFFFF, FFFF0001, 0, 0",
        "0, FFFF0001, 1, 0",
        "0, FFFF0001, 5, 5",
        "0, FFFF0001, FFFFFFFF, 8",
        "0, FFFF0001, 7FFFFFFC, 8",
        "0, FFFF0001, 80000000, 8",
        "0, FFFF0001, 0, 4",
        "0, FFFF0002, 0, 0",
        "0, FFFF0002, 0, 7",
        "0, FFFF0002, 4, 12",
        "0, FFFF0003, 1, 0",
        "0, FFFF0003, FFFFFFFF, 8"
    })
    @Proves({"V2-DIR-03", "V2-DIR-04", "V2-HDR-04", "SEC-11"})
    void badOptions(String direction, String type, String length, int rest) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            client.send(
                    option(
                            7,
                            Integer.parseUnsignedInt(direction, 16),
                            Integer.parseUnsignedInt(type, 16),
                            Integer.parseUnsignedInt(length, 16),
                            zeros(rest)));
            ByteBuf answer = pair.client.takeBuffer();
            assertThat(answer).isEqualTo(error(7, 2));
            answer.release();
            client.send(option(8, 0, TYPE, 0, zeros(0)));
            assertThat(recorder.take()).isEqualTo("call 8  0");
        }
    }

    /** A payload with another XID, or of the other direction, is not the message of the header. */
    @ParameterizedTest
    @CsvSource({"8, 0", "7, 1", "7, 2"})
    @Proves("V2-DIR-03")
    void aPayloadOfAnotherMessage(int xid, int direction) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            ByteBuf payload = Rpc.echo(xid, 0).setInt(4, direction);
            client.send(option(7, 0, WITH_MESSAGE, 0, payload));
            ByteBuf answer = pair.client.takeBuffer();
            assertThat(answer).isEqualTo(error(7, 2));
            answer.release();
            assertThat(withMessage.received).isEmpty();
        }
    }

    @Test
    void aCallThatIsInProgressIsDropped() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            client.send(option(7, 0, TYPE, 4, Unpooled.copiedBuffer(text("wait"))));
            client.send(option(7, 0, TYPE, 4, Unpooled.copiedBuffer(text("more"))));
            client.send(option(8, 0, TYPE, 4, Unpooled.copiedBuffer(text("last"))));
            assertThat(recorder.take()).isEqualTo("call 7 wait 0");
            assertThat(recorder.take()).isEqualTo("call 8 last 0");
            assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_DUPLICATE_XID)).isOne();
        }
    }

    // ------------------------------------------------------------------ requester

    /** Answers that are none: the operation stays out, and a good reply completes it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "unknown type",
                "other type",
                "other XID",
                "a call",
                "direction 2",
                "too long",
                "payload",
                "RPC reply"
            })
    @Proves({"V2-EXT-04", "V2-ERR-02", "V2-DIR-04"})
    void droppedReplies(String what) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("x")));
            server.take();
            int probe = server.header.xid();
            server.send(
                    new TransportHeader().set(probe, 2, 16, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(probe));
            assertThat(server.take()).isEqualTo(32);
            assertThat(server.header.credit()).isEqualTo(config.requestedCredits());
            server.send(
                    switch (what) {
                        case "unknown type" -> option(9, 1, UNKNOWN, 0, zeros(0));
                        case "other type" -> option(9, 1, WITH_ANYTHING, 0, zeros(0));
                        case "other XID" -> option(10, 1, TYPE, 0, zeros(0));
                        case "a call" -> option(9, 0, TYPE, 0, zeros(0));
                        case "direction 2" -> option(9, 2, TYPE, 0, zeros(0));
                        case "too long" -> option(9, 1, TYPE, 5, zeros(4));
                        case "payload" -> option(9, 1, TYPE, 4, zeros(8));
                        default ->
                                RawPeer.message(
                                        new TransportHeader()
                                                .set(9, 2, 16, 0, OncRpcHeaderDecoder.REPLY),
                                        Rpc.reply(9));
                    });
            server.send(option(9, 1, TYPE, 4, Unpooled.copiedBuffer(text("good"))));
            assertThat(recorder.take()).isEqualTo("reply 9 good 0");
            assertThat(pair.server.messages).isEmpty();
            assertThat(pair.client.messages).isEmpty();
        }
    }

    /** Where calls are answered too: an error could end the peer's call with that XID (draft, 4.2.2). */
    @Test
    @Proves({"V2-EXT-04", "V2-DIR-05", "V2-EXT-03"})
    void repliesOfUnknownTypeAreDroppedBesideReverseCallsToo() throws Exception {
        RpcRdmaConfig reverse =
                RpcRdmaConfig.builder().reverseCredits(4).versionTwo(config.versionTwo()).build();
        try (RpcPair pair = RpcPair.rawServer(reverse, reverse);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("x")));
            server.take();
            int probe = server.header.xid();
            server.send(
                    new TransportHeader().set(probe, 2, 16, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(probe));
            server.take();
            pair.openReverse(4);
            server.send(option(9, 1, UNKNOWN, 0, zeros(0)));
            server.send(option(10, 1, UNKNOWN, 0, zeros(0)));
            server.send(option(9, 1, UNKNOWN, 4, zeros(12)));
            // The first that is answered is the call, with the XID of the operation that is out.
            server.send(option(9, 0, UNKNOWN, 0, zeros(0)));
            assertThat(ByteBufUtil.hexDump(pair.server.takeBytes()))
                    .isEqualTo("0000000900000002000000040000000400000003");
            assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_PROCEDURE))
                    .isEqualTo(3);
            server.send(option(9, 1, TYPE, 4, Unpooled.copiedBuffer(text("good"))));
            assertThat(recorder.take()).isEqualTo("reply 9 good 0");
            assertThat(pair.client.messages).isEmpty();
            assertThat(pair.server.messages).isEmpty();
        }
    }

    /** Every implementation knows calls that go this way (draft, 4.2.2), open or not. */
    @Test
    @Proves({"V2-EXT-03", "V2-DIR-01"})
    void aCallOfUnknownTypeIsRefusedWithoutReverseCallsToo() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            server.send(option(9, 0, UNKNOWN, 0, zeros(0)));
            assertThat(ByteBufUtil.hexDump(pair.server.takeBytes()))
                    .isEqualTo("0000000900000002000000010000000400000003");
        }
    }

    /** It waits for the credit of the option before it: whatever comes is no answer to it, and gives nothing back. */
    @Test
    @Proves({"V2-ERR-02", "V2-DIR-05"})
    void anAnswerToAnOptionThatHasNotLeftIsDropped() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("x")));
            pair.call(OptionalOperationMessage.call(10, TYPE, text("y")));
            server.take();
            int probe = server.header.xid();
            server.send(
                    new TransportHeader().set(probe, 2, 1, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(probe));
            server.take();
            assertThat(server.header.xid()).isEqualTo(9);
            server.send(option(10, 1, TYPE, 4, Unpooled.copiedBuffer(text("soon"))));
            server.send(error(10, 3));
            server.send(option(9, 1, TYPE, 4, Unpooled.copiedBuffer(text("good"))));
            assertThat(recorder.take()).isEqualTo("reply 9 good 0");
            server.take();
            assertThat(server.header.xid()).isEqualTo(10);
            server.send(option(10, 1, TYPE, 4, Unpooled.copiedBuffer(text("late"))));
            assertThat(recorder.take()).isEqualTo("reply 10 late 0");
            assertThat(pair.client.messages).isEmpty();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID))
                    .isEqualTo(2);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @Test
    @Proves("V2-ERR-02")
    void anOptionIsNoReplyToAnRpcCall() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            TransportHeader header = new TransportHeader();
            pair.call(Rpc.echo(9, 8));
            server.take();
            int probe = server.header.xid();
            server.send(header.set(probe, 2, 16, 0, OncRpcHeaderDecoder.REPLY), Rpc.reply(probe));
            server.take();
            server.send(option(9, 1, TYPE, 0, zeros(0)));
            server.send(header.set(9, 2, 16, 0, OncRpcHeaderDecoder.REPLY), Rpc.reply(9));
            assertThat(pair.client.takeXid()).isEqualTo(9);
            assertThat(pair.client.errors).isEmpty();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isOne();
        }
    }

    @Test
    @Proves({"V2-ERR-01", "V2-EXT-03"})
    void theResponderDoesNotKnowTheType() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(OptionalOperationMessage.call(9, TYPE, text("x")));
            server.take();
            int probe = server.header.xid();
            server.send(
                    new TransportHeader().set(probe, 2, 16, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(probe));
            server.take();
            server.send(error(9, 3));
            assertThat(pair.client.takeFailure())
                    .isInstanceOfSatisfying(
                            OptionalOperationUnsupportedByPeerException.class,
                            e -> assertThat(e.type()).isEqualTo(TYPE));
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @Test
    void theMessageIsAHolder() {
        OptionalOperationMessage option =
                OptionalOperationMessage.call(1, TYPE, text("x"), zeros(4));
        assertThat(option.retainedDuplicate().release()).isFalse();
        OptionalOperationMessage copy = option.copy();
        assertThat(copy.information()).isEqualTo(text("x"));
        assertThat(copy.content()).isEqualTo(option.content());
        assertThat(Arrays.asList(copy.release(), option.release())).containsOnly(true);
    }
}
