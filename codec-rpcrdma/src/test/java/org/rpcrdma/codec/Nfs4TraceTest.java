// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.collection.IntObjectHashMap;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** NFS version 4.1 as the Linux client and server spoke it: the binding, the responder and the requester against it. */
class Nfs4TraceTest {

    private static final int HEADER = OncRpcHeaderDecoder.REPLY_HEADER_BYTES;

    /** What was sent, and the RPC messages behind it with every chunk back in its place. */
    record Exchange(Trace call, Trace reply, String callHex, String replyHex) {
        byte[] wholeCall() {
            return HexFormat.of().parseHex(callHex);
        }

        byte[] wholeReply() {
            return HexFormat.of().parseHex(replyHex);
        }

        @Override
        public String toString() {
            return call.toString();
        }
    }

    static List<Exchange> exchanges() {
        IntObjectHashMap<String[]> whole = new IntObjectHashMap<>();
        try (InputStream in = Nfs4TraceTest.class.getResourceAsStream("linux-6.1-nfs41.rpc");
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII))) {
            lines.lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split("\\|", -1))
                    .forEach(fields -> whole.put(Integer.parseInt(fields[0]), fields));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        IntObjectHashMap<Trace> pending = new IntObjectHashMap<>();
        List<Exchange> exchanges = new ArrayList<>();
        for (Trace send : Trace.load("nfs41")) {
            if (send.isCall()) {
                pending.put(send.xid(), send);
                continue;
            }
            Trace call = pending.remove(send.xid());
            String[] fields = whole.remove(call.frame());
            exchanges.add(new Exchange(call, send, fields[1], fields[2]));
        }
        assertThat(pending.isEmpty() && whole.isEmpty()).isTrue();
        assertThat(exchanges).hasSizeGreaterThan(20);
        return exchanges;
    }

    private final TransportHeader header = new TransportHeader();
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final XdrCursor cursor = new XdrCursor();

    private static TransportHeader decode(TransportHeader header, ByteBuf in) {
        header.decodeFixed(in, 0);
        assertThat(header.decodeLists(in, 16, in.readableBytes(), 512)).isPositive();
        return header;
    }

    private UpperLayerBinding bindingOf(ByteBuf call, int start) {
        assertThat(rpc.decode(call, start, call.writerIndex())).isTrue();
        assertThat(rpc.program).isEqualTo(Rpc.NFS);
        assertThat(rpc.version).isEqualTo(4);
        return BindingRegistry.standard().find(rpc.program, rpc.version);
    }

    private XdrCursor arguments(ByteBuf call, int start, ItemInChunkPredicate reduction) {
        return cursor.wrap(call, start, rpc.argumentsIndex, call.writerIndex(), reduction);
    }

    private XdrCursor results(ByteBuf reply, int start, ItemInChunkPredicate reduction) {
        int index = new OncRpcHeaderDecoder().resultsIndex(reply, start, reply.writerIndex());
        assertThat(index).isPositive();
        return cursor.wrap(reply, start, index, reply.writerIndex(), reduction);
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    @Proves({"V1-CHUNK-01", "V1-READ-03", "V1-READ-09", "V1-READ-12", "V1-ULB-01", "API-01"})
    void eligibleArgumentsAreWhereTheKernelReducedThem(Exchange exchange)
            throws MalformedMessageException {
        ByteBuf in = exchange.call.buffer();
        int start = exchange.call.headerBytes();
        decode(header, in);
        UpperLayerBinding binding = bindingOf(in, start);
        binding.walkArguments(4, rpc.procedure, arguments(in, start, header.reads()));
        // Every operation is known: the walk ends with the call.
        assertThat(cursor.remaining()).isZero();
        int reduced = 0;
        for (int i = 0; i < cursor.items(); i++) {
            if (cursor.isItemReduced(i)) {
                reduced++;
                assertThat(cursor.itemPosition(i)).isEqualTo(176);
                assertThat(cursor.itemLength(i)).isEqualTo((int) header.reads().chunkLength(176));
            }
        }
        assertThat(reduced).isEqualTo(header.reads().segments());

        ByteBuf whole = Unpooled.wrappedBuffer(exchange.wholeCall());
        int items = cursor.items();
        long position = items > 0 ? cursor.itemPosition(0) : 0;
        bindingOf(whole, 0)
                .walkArguments(4, rpc.procedure, arguments(whole, 0, ItemInChunkPredicate.NONE));
        assertThat(cursor.remaining()).isZero();
        assertThat(cursor.items()).isEqualTo(items);
        assertThat(items > 0 ? cursor.itemPosition(0) : 0).isEqualTo(position);
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    @Proves({"V1-WRITE-02", "V1-WRITE-26", "V1-CHUNK-04", "V1-CHUNK-08"})
    void eligibleResultsAreWhatTheKernelPlaced(Exchange exchange) throws MalformedMessageException {
        UpperLayerBinding binding = bindingOf(Unpooled.wrappedBuffer(exchange.wholeCall()), 0);
        int procedure = rpc.procedure;
        ByteBuf whole = Unpooled.wrappedBuffer(exchange.wholeReply());
        binding.walkResults(4, procedure, results(whole, 0, ItemInChunkPredicate.NONE));
        assertThat(cursor.remaining()).isZero();
        int items = cursor.items();

        ByteBuf out = exchange.reply.buffer();
        decode(header, out);
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            return; // READLINK is among these: its text is eligible, yet Linux takes a Reply chunk
        }
        assertThat(items).isEqualTo(header.writes().chunks());
        long position = items > 0 ? cursor.itemPosition(0) : 0;
        int start = exchange.reply.headerBytes();
        binding.walkResults(
                4,
                procedure,
                results(out, start, new InboundResultWriteChunkMatcher().of(header.writes())));
        assertThat(cursor.remaining()).isZero();
        assertThat(cursor.items()).isEqualTo(items);
        if (items > 0) {
            assertThat(cursor.itemPosition(0)).isEqualTo(position);
            assertThat(cursor.itemLength(0)).isEqualTo((int) header.writes().chunkLength(0));
        }
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    @Proves({"V1-ULB-05", "V1-ULB-06", "API-07"})
    void noReplyIsLongerThanItsBound(Exchange exchange) throws MalformedMessageException {
        ByteBuf in = exchange.call.buffer();
        int start = exchange.call.headerBytes();
        decode(header, in);
        ReplyLimits limits = new ReplyLimits();
        bindingOf(in, start)
                .limitResults(4, rpc.procedure, arguments(in, start, header.reads()), limits);
        assertThat(limits.isKnown()).isTrue();
        assertThat(limits.totalBytes() + HEADER)
                .isGreaterThanOrEqualTo(exchange.wholeReply().length);
        assertThat(limits.sinks()).isEqualTo(header.writes().chunks());
        if (limits.sinks() > 0) {
            assertThat(limits.sinkBytes(0)).isEqualTo(header.writes().chunkLength(0));
        }
        // Whenever the kernel felt safe without a chunk, so do we: nothing is registered in vain.
        if (limits.sinks() == 0 && !header.reply().isPresent()) {
            assertThat(
                            28
                                    + HEADER
                                    + OncRpcHeaderDecoder.MAXIMUM_VERIFIER_BYTES
                                    + limits.totalBytes())
                    .isLessThanOrEqualTo(4096);
        }
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    @Proves({"SEC-16", "V1-ERR-10"})
    void cutShortAnywhereOnlyTheExceptionOfXdrComesOut(Exchange exchange)
            throws MalformedMessageException {
        ByteBuf call = Unpooled.wrappedBuffer(exchange.wholeCall());
        UpperLayerBinding binding = bindingOf(call, 0);
        int procedure = rpc.procedure;
        if (procedure == 0) {
            return; // NULL has nothing to walk
        }
        ReplyLimits limits = new ReplyLimits();
        for (int end = rpc.argumentsIndex; end < call.writerIndex(); end++) {
            ByteBuf cut = call.slice(0, end); // reading past its end throws something else
            assertMalformed(
                    () ->
                            binding.walkArguments(
                                    4, 1, arguments(cut, 0, ItemInChunkPredicate.NONE)));
            assertMalformed(
                    () ->
                            binding.limitResults(
                                    4, 1, arguments(cut, 0, ItemInChunkPredicate.NONE), limits));
        }
        ByteBuf reply = Unpooled.wrappedBuffer(exchange.wholeReply());
        for (int end = HEADER; end < reply.writerIndex(); end++) {
            ByteBuf cut = reply.slice(0, end);
            assertMalformed(
                    () -> binding.walkResults(4, 1, results(cut, 0, ItemInChunkPredicate.NONE)));
        }
    }

    private static void assertMalformed(ThrowingCallable walk) {
        Throwable thrown = catchThrowable(walk);
        if (thrown != MalformedMessageException.INSTANCE) {
            throw new AssertionError("cut short, but not found to be malformed", thrown);
        }
    }

    /** The client's side of the conversation, with our handles in the place of the kernel's. */
    @Test
    @Proves({
        "V1-READ-03",
        "V1-READ-09",
        "V1-WRITE-02",
        "V1-WRITE-10",
        "V1-REPLY-01",
        "V1-REPLY-09",
        "API-04",
        "API-06"
    })
    void ourResponderTakesTheCallsOfTheKernelAndAnswersAsItDid() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(RpcPair.usual().build(), RpcPair.usual().build())) {
            for (Exchange exchange : exchanges()) {
                replay(pair, exchange);
            }
        }
    }

    private void replay(RpcPair pair, Exchange exchange) throws Exception {
        ByteBuf captured = exchange.call.buffer();
        decode(header, captured);
        ByteBuf memory = on(pair.clientChannel, () -> pair.clientChannel.registeredBuffer(80_000));
        TransportHeader call =
                new TransportHeader().set(header.xid(), header.credit(), header.proc());
        int argument = -1;
        if (header.reads().segments() > 0) {
            int position = (int) header.reads().position(0);
            int length = (int) header.reads().length(0);
            memory.writeBytes(exchange.wholeCall(), position, length);
            argument = expose(pair, memory, RemoteAccess.READ);
            call.reads().add(position, argument, length, offset(pair, argument));
        }
        int result = expose(pair, memory, RemoteAccess.WRITE);
        long at = offset(pair, result);
        for (int c = 0; c < header.writes().chunks(); c++) {
            for (int i = header.writes().firstSegment(c); i < header.writes().endSegment(c); i++) {
                call.writes().add(result, header.writes().length(i), at);
                at += header.writes().length(i);
            }
            call.writes().endChunk();
        }
        if (header.reply().isPresent()) {
            call.reply().setPresent();
            for (int i = 0; i < header.reply().segments(); i++) {
                call.reply().add(result, header.reply().length(i), at);
                at += header.reply().length(i);
            }
        }
        ByteBuf send = Unpooled.buffer();
        call.encode(send);
        send.writeBytes(
                captured,
                exchange.call.headerBytes(),
                captured.writerIndex() - exchange.call.headerBytes());
        pair.call(send);
        assertThat(pair.server.takeBytes()).isEqualTo(exchange.wholeCall());

        pair.reply(Unpooled.wrappedBuffer(exchange.wholeReply()));
        ByteBuf received = pair.client.takeBuffer();
        TransportHeader reply = decode(new TransportHeader(), received);
        ByteBuf expected = exchange.reply.buffer();
        decode(header, expected);
        byte[] payload =
                ByteBufUtil.getBytes(
                        received,
                        reply.encodedBytes(),
                        received.writerIndex() - reply.encodedBytes());
        if (header.proc() == TransportHeader.RDMA_MSG) {
            // Reduced as the kernel has reduced it: the same bytes inline, the same number placed.
            assertThat(reply.proc()).isEqualTo(TransportHeader.RDMA_MSG);
            assertThat(payload)
                    .isEqualTo(
                            ByteBufUtil.getBytes(
                                    expected,
                                    exchange.reply.headerBytes(),
                                    expected.writerIndex() - exchange.reply.headerBytes()));
            assertThat(reply.writes().chunks()).isEqualTo(header.writes().chunks());
            if (reply.writes().chunks() > 0) {
                int placed = (int) reply.writes().chunkLength(0);
                assertThat(placed).isEqualTo((int) header.writes().chunkLength(0));
                assertThat(ByteBufUtil.getBytes(memory, 0, placed))
                        .isEqualTo(
                                ByteBufUtil.getBytes(
                                        Unpooled.wrappedBuffer(exchange.wholeReply()),
                                        payload.length,
                                        placed));
            }
        } else {
            // The kernel uses a Reply chunk whenever it was offered; here a short reply
            // stays short.
            assertThat(payload).isEqualTo(exchange.wholeReply());
            assertThat(reply.proc()).isEqualTo(TransportHeader.RDMA_MSG);
        }
        received.release();
        on(
                pair.clientChannel,
                () -> {
                    pair.clientChannel.invalidate(result);
                    return null;
                });
        if (argument >= 0) {
            int handle = argument;
            on(
                    pair.clientChannel,
                    () -> {
                        pair.clientChannel.invalidate(handle);
                        return null;
                    });
        }
        memory.release();
    }

    private static int expose(RpcPair pair, ByteBuf memory, RemoteAccess access) throws Exception {
        return on(
                pair.clientChannel,
                () -> pair.clientChannel.expose(memory, 0, memory.capacity(), access));
    }

    private static long offset(RpcPair pair, int handle) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.exposedOffset(handle));
    }

    /**
     * The same RPC messages from our requester: its reductions and its bounds hold for what the kernel's server said.
     */
    @Test
    @Proves({"V1-ULB-05", "V1-ULB-06", "V1-CHUNK-02", "API-04"})
    void ourRequesterAndResponderCarryTheConversation() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            for (Exchange exchange : exchanges()) {
                pair.call(Unpooled.wrappedBuffer(exchange.wholeCall()));
                assertThat(pair.server.takeBytes()).isEqualTo(exchange.wholeCall());
                pair.reply(Unpooled.wrappedBuffer(exchange.wholeReply()));
                assertThat(pair.client.takeBytes()).isEqualTo(exchange.wholeReply());
            }
            // The three READs, and the one long WRITE.
            assertThat(pair.serverConnection().value(RpcRdmaCounter.READ_BYTES)).isEqualTo(20003);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isGreaterThanOrEqualTo(65536);
        }
    }
}
