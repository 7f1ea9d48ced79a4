// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * The Linux client of the captured conversations against our responder. Its Sends are sent again as they were, with
 * chunks in memory of ours; the RPC handler answers what the Linux server's handler answered. What was in the chunks of
 * NFSv3 was not kept and is made up, in its length.
 */
class ReplayTest {

    private static final int THRESHOLD = 4096;

    /**
     * A call as sent again.
     *
     * @param message the Send
     * @param whole the RPC message
     * @param segments the memory of each segment: Read list, Write list, Reply chunk
     */
    private record Sent(
            Trace call,
            ByteBuf message,
            ByteBuf whole,
            TransportHeader header,
            List<ByteBuf> segments) {}

    private final Map<Integer, Sent> pending = new HashMap<>();
    private final Map<Integer, byte[]> delivered = new HashMap<>();

    /** Call and reply as they are without RDMA, by the frame of the call; where they were kept. */
    private final Map<Integer, String[]> kept = new HashMap<>();

    private void loadKept(String conversation) throws IOException {
        try (InputStream in =
                getClass().getResourceAsStream("linux-6.1-" + conversation + ".rpc")) {
            if (in != null) {
                new String(in.readAllBytes(), StandardCharsets.US_ASCII)
                        .lines()
                        .filter(line -> !line.startsWith("#"))
                        .map(line -> line.split("\\|", -1))
                        .forEach(field -> kept.put(Integer.parseInt(field[0]), field));
            }
        }
    }

    private byte[] kept(Trace call, int field) {
        String[] fields = kept.get(call.frame());
        return fields == null ? null : HexFormat.of().parseHex(fields[field]);
    }

    @ParameterizedTest
    @CsvSource({"nfs3, 0", "nfs3, 1", "nfs41, 0"})
    @Proves({
        "V1-CORE-05",
        "V1-HDR-02",
        "V1-FRAME-01",
        "V1-FRAME-03",
        "V1-READ-18",
        "V1-WRITE-05",
        "V1-WRITE-08",
        "V1-REPLY-07",
        "V1-CRED-03",
        "V1-OBS-01",
        "V1-OBS-04",
        "V1-MR-07"
    })
    void repliesSatisfyAStrictRequester(String conversation, int connection) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            int replies = 0;
            loadKept(conversation);
            for (Trace send : Trace.load(conversation)) {
                if (send.connection() == connection) {
                    if (send.fromRequester()) {
                        call(client, send);
                    } else {
                        reply(pair, client, send);
                        replies++;
                    }
                }
            }
            assertThat(replies).isGreaterThan(30);
            assertThat(pending).isEmpty();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.GARBAGE_ARGS_SENT)).isZero();
        }
    }

    private void call(RawPeer client, Trace call) throws Exception {
        TransportHeader captured = new TransportHeader();
        ByteBuf in = call.buffer();
        captured.decodeFixed(in, 0);
        int end = captured.decodeLists(in, TransportHeader.FIXED_BYTES, in.writerIndex(), 512);
        byte[] inline = ByteBufUtil.getBytes(in, end, in.writerIndex() - end);
        List<ByteBuf> segments = new ArrayList<>();
        TransportHeader header =
                new TransportHeader().set(call.xid(), captured.credit(), captured.proc());
        ByteBuf whole = Unpooled.buffer();
        int rest = 0;
        for (int i = 0; i < captured.reads().segments(); i++) {
            // All captured Read chunks are of one segment, and in order.
            int length = (int) captured.reads().length(i);
            int before = (int) captured.reads().position(i) - whole.writerIndex();
            whole.writeBytes(inline, rest, before);
            rest += before;
            byte[] known = kept(call, 1);
            int at = whole.writerIndex();
            byte[] data =
                    known == null ? Rpc.random(length) : Arrays.copyOfRange(known, at, at + length);
            whole.writeBytes(data).writeZero(-length & 3);
            ByteBuf segment = client.memory(data);
            segments.add(segment);
            int handle = client.expose(segment, RemoteAccess.READ);
            header.reads().add(captured.reads().position(i), handle, length, client.offset(handle));
        }
        whole.writeBytes(inline, rest, inline.length - rest);
        for (int chunk = 0; chunk < captured.writes().chunks(); chunk++) {
            for (int i = captured.writes().firstSegment(chunk);
                    i < captured.writes().endSegment(chunk);
                    i++) {
                offer(client, captured.writes(), i, header.writes(), segments);
            }
            header.writes().endChunk();
        }
        if (captured.reply().isPresent()) {
            header.reply().setPresent();
            for (int i = 0; i < captured.reply().segments(); i++) {
                offer(client, captured.reply(), i, header.reply(), segments);
            }
        }
        ByteBuf message = RawPeer.message(header, Unpooled.wrappedBuffer(inline));
        assertThat(message.readableBytes()).isEqualTo(in.writerIndex());
        pending.put(call.xid(), new Sent(call, message, whole, header, segments));
        client.send(message.copy());
    }

    private static void offer(
            RawPeer client, SegmentList from, int i, SegmentList to, List<ByteBuf> segments)
            throws Exception {
        ByteBuf segment = client.memory((int) from.length(i));
        segments.add(segment);
        int handle = client.expose(segment, RemoteAccess.WRITE);
        to.add(handle, from.length(i), client.offset(handle));
    }

    private void reply(RpcPair pair, RawPeer client, Trace captured) throws Exception {
        Sent sent = pending.remove(captured.xid());
        while (!delivered.containsKey(captured.xid())) {
            byte[] call = pair.server.takeBytes();
            delivered.put(Unpooled.wrappedBuffer(call).getInt(0), call);
        }
        assertThat(delivered.remove(captured.xid()))
                .as("%s", sent.call())
                .isEqualTo(Rpc.bytes(sent.whole()));
        byte[] known = kept(sent.call(), 2);
        byte[] whole = known == null ? madeUpReply(captured) : known;
        pair.reply(Unpooled.wrappedBuffer(whole));
        byte[] reply = client.inbox.takeBytes();
        assertThat(StrictReply.violations(Rpc.bytes(sent.message()), reply, THRESHOLD))
                .as("%s", sent.call())
                .isEmpty();
        assertThat(Unpooled.wrappedBuffer(reply).getInt(8)).isEqualTo(captured.credit());
        assertRebuilds(sent, reply, whole);
    }

    /** What the Linux server's handler answered: its reply with the placed data put back, made up. */
    private static byte[] madeUpReply(Trace captured) {
        TransportHeader header = new TransportHeader();
        ByteBuf in = captured.buffer();
        header.decodeFixed(in, 0);
        int at = header.decodeLists(in, TransportHeader.FIXED_BYTES, in.writerIndex(), 512);
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            int length = (int) header.reply().chunkLength();
            return Rpc.bytes(Rpc.reply(captured.xid()).writeBytes(Rpc.random(length - 24)));
        }
        ByteBuf whole = Unpooled.buffer().writeBytes(in, at, in.writerIndex() - at);
        if (header.writes().chunks() > 0) {
            int length = (int) header.writes().chunkLength(0);
            assertThat(whole.getInt(whole.writerIndex() - 4)).isEqualTo(length);
            whole.writeBytes(Rpc.random(length)).writeZero(-length & 3);
        }
        return Rpc.bytes(whole);
    }

    /** What came inline and what was placed make up the whole; what was not to be written is as it was. */
    private static void assertRebuilds(Sent sent, byte[] reply, byte[] whole) {
        TransportHeader header = new TransportHeader();
        ByteBuf in = Unpooled.wrappedBuffer(reply);
        header.decodeFixed(in, 0);
        int at = header.decodeLists(in, TransportHeader.FIXED_BYTES, reply.length, 512);
        byte[] inline = Arrays.copyOfRange(reply, at, reply.length);
        ByteBuf placed = Unpooled.buffer();
        int segment = sent.header().reads().segments();
        for (int i = 0; i < header.writes().segments(); i++) {
            collect(sent.segments().get(segment++), (int) header.writes().length(i), placed);
        }
        placed.writeZero(-placed.writerIndex() & 3);
        for (int i = 0; i < header.reply().segments(); i++) {
            collect(sent.segments().get(segment++), (int) header.reply().length(i), placed);
        }
        byte[] data = Rpc.bytes(placed);
        int gap = Arrays.mismatch(inline, whole);
        if (data.length == 0) {
            assertThat(inline).as("%s", sent.call()).isEqualTo(whole);
            return;
        }
        // Where the placed data was taken out, unless it goes on with the same bytes.
        while (gap >= 0 && !isAt(data, whole, gap)) {
            gap--;
        }
        assertThat(gap).as("%s", sent.call()).isNotNegative();
        ByteBuf rebuilt = Unpooled.buffer().writeBytes(inline, 0, gap).writeBytes(data);
        assertThat(Rpc.bytes(rebuilt.writeBytes(inline, gap, inline.length - gap)))
                .as("%s", sent.call())
                .isEqualTo(whole);
    }

    private static boolean isAt(byte[] data, byte[] whole, int index) {
        return index + data.length <= whole.length
                && Arrays.equals(whole, index, index + data.length, data, 0, data.length);
    }

    private static void collect(ByteBuf memory, int length, ByteBuf whole) {
        whole.writeBytes(memory, 0, length);
        byte[] rest = ByteBufUtil.getBytes(memory, length, memory.capacity() - length);
        byte[] untouched = new byte[rest.length];
        Arrays.fill(untouched, RawPeer.UNTOUCHED);
        assertThat(rest).isEqualTo(untouched);
    }
}
