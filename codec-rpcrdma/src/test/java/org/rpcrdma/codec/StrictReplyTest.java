// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.codec.wire.TransportHeader;

/** The judge is strict, and what the Linux server sent satisfies it. */
class StrictReplyTest {

    static List<Arguments> captured() {
        IntObjectHashMap<Trace> calls = new IntObjectHashMap<>();
        List<Arguments> exchanges = new ArrayList<>();
        for (Trace send : Trace.all()) {
            if (send.fromRequester()) {
                calls.put(send.xid(), send);
            } else {
                exchanges.add(Arguments.of(calls.get(send.xid()), send));
            }
        }
        return exchanges;
    }

    @ParameterizedTest
    @MethodSource("captured")
    void acceptsTheLinuxServer(Trace call, Trace reply) {
        assertThat(
                        StrictReply.violations(
                                ByteBufUtil.getBytes(call.buffer()),
                                ByteBufUtil.getBytes(reply.buffer()),
                                4096))
                .isEmpty();
    }

    private static TransportHeader offer() {
        TransportHeader call = RawPeer.header(7, 0);
        call.writes().add(1, 100, 1000);
        call.writes().add(2, 100, 2000);
        call.writes().endChunk();
        call.reply().setPresent();
        call.reply().add(3, 100, 3000);
        call.reply().add(4, 100, 4000);
        return call;
    }

    private static byte[] bytes(TransportHeader header, ByteBuf payload) {
        ByteBuf message = RawPeer.message(header, payload);
        return Rpc.bytes(message);
    }

    private static List<String> judge(byte[] reply) {
        return StrictReply.violations(bytes(offer(), Rpc.echo(7, 0)), reply, 200);
    }

    private static TransportHeader returned(int proc) {
        TransportHeader reply = offer();
        reply.set(7, 16, proc);
        reply.writes().length(0, 100);
        reply.writes().length(1, 5);
        reply.reply().length(0, proc == 1 ? 24 : 0);
        reply.reply().length(1, 0);
        return reply;
    }

    @Test
    void acceptsGoodReplies() {
        assertThat(judge(bytes(returned(0), Rpc.reply(7)))).isEmpty();
        assertThat(judge(bytes(returned(1), RawPeer.nothing()))).isEmpty();
    }

    private static Arguments bad(String what, int proc, Consumer<TransportHeader> change) {
        return Arguments.of(what, proc, change);
    }

    static Stream<Arguments> changes() {
        return Stream.of(
                bad("XID", 0, h -> h.set(8, 16, 0)),
                bad("credit", 0, h -> h.set(7, 0, 0)),
                bad("MSGP", 2, h -> {}),
                bad("DONE", 3, h -> {}),
                bad("Read list", 0, h -> h.reads().add(4, 5, 6, 7)),
                bad("no Write list", 0, h -> h.writes().clear()),
                bad("Write chunk more", 0, h -> h.writes().endChunk()),
                bad("Write segment too long", 0, h -> h.writes().length(0, 101)),
                bad("Write chunk with a gap", 0, h -> h.writes().length(0, 99)),
                bad("no Reply chunk", 0, h -> h.reply().clear()),
                bad("no Reply chunk for a long reply", 1, h -> h.reply().clear()),
                bad("Reply chunk in use inline", 0, h -> h.reply().length(0, 24)),
                bad("empty long reply", 1, h -> h.reply().length(0, 0)),
                bad("odd long reply", 1, h -> h.reply().length(0, 25)),
                bad("Reply segment more", 1, h -> h.reply().add(9, 0, 9)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void refuses(String what, int proc, Consumer<TransportHeader> change) {
        TransportHeader reply = returned(proc);
        change.accept(reply);
        assertThat(judge(bytes(reply, proc == 1 ? RawPeer.nothing() : Rpc.reply(7)))).isNotEmpty();
    }

    @Test
    void refusesBadPayloadsAndLengths() {
        byte[] good = bytes(returned(0), Rpc.reply(7));
        assertThat(judge(bytes(returned(0), Rpc.reply(8)))).isNotEmpty();
        assertThat(judge(bytes(returned(0), Rpc.echo(7, 0)))).isNotEmpty();
        assertThat(judge(bytes(returned(1), Rpc.reply(7)))).isNotEmpty();
        assertThat(judge(bytes(returned(0), Rpc.reply(7).writeZero(100)))).isNotEmpty();
        for (int length = 0; length < good.length; length++) {
            if (length != good.length - 4) {
                assertThat(judge(Arrays.copyOf(good, length))).as("%d bytes", length).isNotEmpty();
            }
        }
        byte[] handle = good.clone();
        handle[31] ^= 1;
        assertThat(judge(handle)).isNotEmpty();
    }
}
