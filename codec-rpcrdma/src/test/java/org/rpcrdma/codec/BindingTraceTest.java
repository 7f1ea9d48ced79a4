// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** The bindings against what the Linux client and server did. */
class BindingTraceTest {

    private final BindingRegistry registry = BindingRegistry.standard();
    private final TransportHeader header = new TransportHeader();
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final XdrCursor cursor = new XdrCursor();

    static Stream<Trace> calls() {
        return Trace.load("nfs3").stream().filter(Trace::isCall);
    }

    static List<Arguments> exchanges() {
        IntObjectHashMap<Trace> pending = new IntObjectHashMap<>();
        List<Arguments> exchanges = new ArrayList<>();
        for (Trace send : Trace.load("nfs3")) {
            if (send.isCall()) {
                pending.put(send.xid(), send);
            } else {
                exchanges.add(Arguments.of(pending.remove(send.xid()), send));
            }
        }
        assertThat(pending.isEmpty()).isTrue();
        return exchanges;
    }

    @ParameterizedTest
    @MethodSource("calls")
    @Proves({"V1-CHUNK-01", "V1-READ-03", "V1-READ-09", "V1-READ-12", "API-01"})
    void eligibleArgumentsAreWhereTheKernelReducedThem(Trace call)
            throws MalformedMessageException {
        ByteBuf in = call.buffer();
        UpperLayerBinding binding = decodeCall(call, in);
        binding.walkArguments(rpc.version, rpc.procedure, argumentsOf(call, in));
        assertThat(rpc.reductionAllowed).isTrue();
        int reduced = 0;
        for (int i = 0; i < cursor.items(); i++) {
            if (cursor.isItemReduced(i)) {
                reduced++;
                assertThat(cursor.itemLength(i))
                        .isEqualTo((int) header.reads().chunkLength(cursor.itemPosition(i)));
            }
        }
        assertThat(reduced).isEqualTo(header.reads().segments());
        if (reduced > 0) {
            assertThat(cursor.itemPosition(0)).isEqualTo(108);
        }
        if (cursor.items() > 0) {
            // WRITE ends with its data, SYMLINK with its path.
            assertThat(cursor.remaining()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    @Proves({"V1-WRITE-02", "V1-WRITE-26", "V1-ULB-05", "V1-ULB-06", "API-07"})
    void eligibleResultsAndReplySizesAreWhatTheKernelPlacedAndSent(Trace call, Trace reply)
            throws MalformedMessageException {
        ByteBuf in = call.buffer();
        UpperLayerBinding binding = decodeCall(call, in);
        ReplyLimits limits = new ReplyLimits();
        binding.limitResults(rpc.version, rpc.procedure, argumentsOf(call, in), limits);
        assertThat(limits.isKnown()).isTrue();
        assertThat(limits.sinks()).isEqualTo(header.writes().chunks());
        if (limits.sinks() == 1) {
            assertThat(limits.sinkBytes(0)).isEqualTo(header.writes().chunkLength(0));
        }
        boolean replyChunk = header.reply().isPresent();
        assertThat(limits.totalBytes() + OncRpcHeaderDecoder.REPLY_HEADER_BYTES + 28 > 4096)
                .as("a Write or Reply chunk is needed")
                .isEqualTo(replyChunk || limits.sinks() > 0);

        ByteBuf out = reply.buffer();
        header.decodeFixed(out, 0);
        int payload = header.decodeLists(out, 16, out.readableBytes(), 512);
        if (header.proc() == TransportHeader.RDMA_NOMSG) {
            assertThat(header.reply().chunkLength())
                    .isLessThanOrEqualTo(
                            limits.totalBytes() + OncRpcHeaderDecoder.REPLY_HEADER_BYTES);
            return;
        }
        int results = new OncRpcHeaderDecoder().resultsIndex(out, payload, out.readableBytes());
        assertThat(results).isPositive();
        assertThat(out.readableBytes() - results).isLessThanOrEqualTo((int) limits.fixedBytes());
        binding.walkResults(
                rpc.version,
                rpc.procedure,
                cursor.wrap(
                        out,
                        payload,
                        results,
                        out.readableBytes(),
                        (position, ordinal, length) -> header.writes().chunks() > ordinal));
        assertThat(cursor.items()).isEqualTo(header.writes().chunks());
        if (cursor.items() == 1) {
            assertThat(cursor.itemLength(0)).isEqualTo((int) header.writes().chunkLength(0));
            assertThat(cursor.remaining()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("calls")
    @Proves({"SEC-16", "V1-ERR-10"})
    void cutShortAnywhereABindingNeverReadsBeyondTheEnd(Trace call)
            throws MalformedMessageException {
        ByteBuf whole = call.buffer();
        UpperLayerBinding binding = decodeCall(call, whole);
        ReplyLimits limits = new ReplyLimits();
        int arguments = rpc.argumentsIndex;
        boolean hasItem = hasItem(binding, call, whole);
        for (int end = call.headerBytes(); end < whole.writerIndex(); end++) {
            // Reading past the end of this copy would throw something else.
            ByteBuf in = whole.copy(0, end);
            assertThat(rpc.decode(in, call.headerBytes(), end)).isEqualTo(end >= arguments);
            if (end >= arguments) {
                try {
                    binding.limitResults(
                            call.programVersion(),
                            call.procedure(),
                            cursor.wrap(in, call.headerBytes(), arguments, end, header.reads()),
                            limits);
                    binding.walkArguments(
                            call.programVersion(),
                            call.procedure(),
                            cursor.wrap(in, call.headerBytes(), arguments, end, header.reads()));
                    assertThat(hasItem).isFalse();
                } catch (MalformedMessageException e) {
                    assertThat(e).isSameAs(MalformedMessageException.INSTANCE);
                }
            }
        }
    }

    private boolean hasItem(UpperLayerBinding binding, Trace call, ByteBuf in)
            throws MalformedMessageException {
        binding.walkArguments(call.programVersion(), call.procedure(), argumentsOf(call, in));
        return cursor.items() > 0;
    }

    @Test
    @Proves({"V1-ULB-04", "API-02"})
    void anUnknownProgramHasNothingEligible() throws MalformedMessageException {
        UpperLayerBinding binding = registry.find(0x20000001, 1);
        ByteBuf in = Trace.load("nfs3").get(0).buffer();
        for (int procedure = 0; procedure < 30; procedure++) {
            binding.walkArguments(
                    1, procedure, cursor.wrap(in, 0, 0, in.readableBytes(), (p, o, l) -> true));
            assertThat(cursor.items()).isZero();
            binding.walkResults(
                    1, procedure, cursor.wrap(in, 0, 0, in.readableBytes(), (p, o, l) -> true));
            assertThat(cursor.items()).isZero();
        }
        assertThat(registry.find(100003, 5)).isSameAs(binding);
        assertThat(registry.find(100003, 3)).isNotSameAs(binding);
    }

    private UpperLayerBinding decodeCall(Trace call, ByteBuf in) {
        header.decodeFixed(in, 0);
        int payload = header.decodeLists(in, 16, in.readableBytes(), 512);
        assertThat(payload).isPositive();
        assertThat(rpc.decode(in, payload, in.readableBytes())).isTrue();
        assertThat(rpc.program).isEqualTo(call.program());
        assertThat(rpc.version).isEqualTo(call.programVersion());
        assertThat(rpc.procedure).isEqualTo(call.procedure());
        return registry.find(rpc.program, rpc.version);
    }

    private XdrCursor argumentsOf(Trace call, ByteBuf in) {
        return cursor.wrap(
                in, call.headerBytes(), rpc.argumentsIndex, in.readableBytes(), header.reads());
    }
}
