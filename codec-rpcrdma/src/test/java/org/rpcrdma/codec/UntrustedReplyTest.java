// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Invariant 7: a peer's reply is never trusted. Every word of a good reply's transport header, and every length of the
 * message, is replaced by every value that could matter; whatever comes of it, the requester delivers the right reply,
 * or a failure, or nothing, and goes on with the next call.
 */
class UntrustedReplyTest {

    /** Where the data of a READ3 reply begins: RPC header, status, attributes, count, end of file, length. */
    private static final int PREFIX = 24 + 4 + 4 + 84 + 4 + 4 + 4;

    private static final int[] WORDS = {
        0, 1, 2, 3, 4, 7, 16, 23, 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF
    };

    private static final int[] DELTAS = {-4, -1, 1, 4};

    private final TransportHeader call = new TransportHeader();
    private int xid = 1;

    @ParameterizedTest
    @MethodSource("formsInBothVersions")
    @Proves({"V1-ERR-04", "V1-ERR-12", "V1-REPLY-13", "SEC-11", "SEC-16", "V1-ERR-13", "V2-SEC-01"})
    void everyWordOfTheHeader(Form form, int version) throws Exception {
        try (RpcPair pair = connect(version, Enumeration.builder().requestedCredits(8))) {
            int words = headerWords(pair, form);
            for (int word = 0; word < words; word++) {
                for (int value : WORDS) {
                    tamper(pair, form, word, value, false);
                }
                for (int delta : DELTAS) {
                    tamper(pair, form, word, delta, true);
                }
            }
            assertThat(on(pair.clientChannel, pair.clientChannel::isActive)).isTrue();
            assertThat(pair.client.errors).isEmpty();
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("formsInBothVersions")
    @Proves({"V1-ERR-01", "V1-ERR-04", "SEC-11"})
    void everyLengthOfTheMessage(Form form, int version) throws Exception {
        try (RpcPair pair = connect(version, Enumeration.builder())) {
            ByteBuf good = goodReply(pair, form);
            byte[] bytes = ByteBufUtil.getBytes(good);
            good.release();
            for (int length = 1; length < bytes.length - payloadBytes(bytes); length++) {
                pair.reply(Unpooled.copiedBuffer(bytes, 0, length));
            }
            pair.reply(Unpooled.wrappedBuffer(bytes));
            expectRight(pair, form);
            assertThat(pair.client.errors).isEmpty();
        }
    }

    static List<Arguments> formsInBothVersions() {
        List<Arguments> all = new ArrayList<>();
        for (Form form : Form.values()) {
            if (form != Form.ALL_CHUNKS && !form.isApart()) {
                all.add(Arguments.of(form, TransportHeader.VERSION_ONE));
                all.add(Arguments.of(form, TransportHeader.VERSION_TWO));
            }
        }
        return all;
    }

    private RpcPair connect(int version, RpcRdmaConfig.Builder config) throws Exception {
        if (version == TransportHeader.VERSION_TWO) {
            config.versionTwo(VersionTwoConfig.defaults());
        }
        RpcPair pair = RpcPair.rawServer(config.build(), RpcRdmaConfig.defaults());
        if (version == TransportHeader.VERSION_TWO) {
            // The NULL call that goes ahead is answered here, and the call behind it.
            pair.call(Rpc.echo(0, 0));
            for (int i = 0; i < 2; i++) {
                ByteBuf received = pair.server.takeBuffer();
                int first = Rpc.xid(received);
                received.release();
                pair.reply(
                        RawPeer.message(
                                new TransportHeader().set(first, version, 16, 0, 1),
                                Rpc.reply(first)));
            }
            pair.client.takeBytes();
        }
        return pair;
    }

    private int headerWords(RpcPair pair, Form form) throws Exception {
        ByteBuf good = goodReply(pair, form);
        byte[] bytes = ByteBufUtil.getBytes(good);
        pair.reply(good);
        expectRight(pair, form);
        return (bytes.length - payloadBytes(bytes)) / 4;
    }

    private static int payloadBytes(byte[] reply) {
        TransportHeader header = new TransportHeader();
        ByteBuf in = Unpooled.wrappedBuffer(reply);
        header.decodeFixed(in, 0);
        return reply.length - header.decodeLists(in, 16, reply.length, 99);
    }

    /** One call with a bad reply and then, unless that has ended it, a good one; and another call after it. */
    private void tamper(RpcPair pair, Form form, int word, int value, boolean isDelta)
            throws Exception {
        ByteBuf good = goodReply(pair, form);
        byte[] bytes = ByteBufUtil.getBytes(good);
        int before = good.getInt(4 * word);
        int after = isDelta ? before + value : value;
        boolean isHopeless = word == 3 && after == 4; // RDMA_ERROR ends a call, and that is right
        if (isHopeless && call.version() == TransportHeader.VERSION_TWO) {
            // The direction word makes it an ERR_VERS without a version, which ends the connection.
            good.release();
            pair.reply(Unpooled.wrappedBuffer(bytes));
            expectRight(pair, form);
            return;
        }
        pair.reply(good.setInt(4 * word, after));
        pair.reply(Unpooled.wrappedBuffer(bytes));
        Object first = pair.client.take();
        if (first instanceof CallFailureMessage) {
            assertThat(isHopeless || after != before).isTrue();
        } else {
            byte[] reply = Rpc.bytes((ByteBuf) first);
            byte[] right = right(form);
            String what =
                    String.format(
                            "%s, word %d = 0x%08x in the place of 0x%08x",
                            form, word, after, before);
            if (call.reply().isPresent() && before == right.length && reply.length == after) {
                // How long a long reply is only its length says, and RPC judges what is there.
                assertThat((long) after).as(what).isBetween(20L, call.reply().chunkLength());
                int common = Math.min(after, right.length);
                assertThat(Arrays.copyOf(reply, common))
                        .as(what)
                        .isEqualTo(Arrays.copyOf(right, common));
            } else {
                assertThat(reply).as(what).isEqualTo(right);
            }
        }
        // The second reply, if the first was taken, has no call; the next message is for this one.
        ByteBuf probe = goodReply(pair, form);
        pair.reply(probe);
        expectRight(pair, form);
    }

    private void expectRight(RpcPair pair, Form form) throws Exception {
        assertThat(pair.client.takeBytes()).isEqualTo(right(form));
    }

    private byte[] right(Form form) {
        ByteBuf reply = form.reply(xid);
        byte[] bytes = ByteBufUtil.getBytes(reply);
        reply.release();
        return bytes;
    }

    /** Makes a call, and the reply of a responder that does everything right; its data is placed already. */
    private ByteBuf goodReply(RpcPair pair, Form form) throws Exception {
        xid++;
        pair.call(form.call(xid));
        ByteBuf received = pair.server.takeBuffer();
        call.decodeFixed(received, 0);
        assertThat(call.decodeLists(received, 16, received.writerIndex(), 99)).isPositive();
        received.release();
        byte[] whole = right(form);
        TransportHeader header =
                new TransportHeader()
                        .set(
                                xid,
                                call.version(),
                                16,
                                TransportHeader.RDMA_MSG,
                                OncRpcHeaderDecoder.REPLY);
        header.writes().copy(call.writes());
        header.reply().copy(call.reply());
        byte[] inline = whole;
        if (form == Form.WRITE_CHUNK) {
            int length = whole.length - PREFIX;
            place(pair, header.writes().handle(0), header.writes().offset(0), whole, PREFIX);
            header.writes().length(0, length - pad(whole));
            inline = Arrays.copyOf(whole, PREFIX);
        }
        if (form == Form.UNUSED_CHUNKS) {
            header.writes().length(0, 0);
            header.writes().length(1, 0);
        }
        if (form == Form.LONG_REPLY || form == Form.LONG_BOTH) {
            place(pair, header.reply().handle(0), header.reply().offset(0), whole, 0);
            header.reply().length(0, whole.length);
            header.set(
                    xid, call.version(), 16, TransportHeader.RDMA_NOMSG, OncRpcHeaderDecoder.REPLY);
            inline = new byte[0];
        } else if (header.reply().isPresent()) {
            header.reply().length(0, 0);
        }
        ByteBuf reply = Unpooled.buffer();
        header.encode(reply);
        return reply.writeBytes(inline);
    }

    private static int pad(byte[] read3) {
        ByteBuf in = Unpooled.wrappedBuffer(read3);
        return -in.getInt(PREFIX - 4) & 3;
    }

    private static void place(RpcPair pair, int handle, long offset, byte[] data, int from)
            throws Exception {
        int length = data.length - from;
        on(
                        pair.serverChannel,
                        () -> {
                            ByteBuf content =
                                    pair.serverChannel
                                            .registeredBuffer(length)
                                            .writeBytes(data, from, length);
                            // The round-up of data is not written: there is no room offered for it.
                            if (from > 0) {
                                content.writerIndex(length - pad(data));
                            }
                            return pair.serverChannel.writeAndFlush(
                                    new RdmaWrite(content, handle, offset));
                        })
                .sync();
    }
}
