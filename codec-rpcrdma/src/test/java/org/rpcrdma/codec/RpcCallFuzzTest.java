// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/** An RPC call: its header, and what the bindings make of its arguments. An input is a whole call. */
class RpcCallFuzzTest extends FuzzTarget {

    private static final int MOST_SINKS = 256;

    /** The most that 4 bytes of arguments can add to a reply: a count of 32 bits and what stands around it. */
    private static final long MOST_OF_A_WORD = 0xffffffffL + 32_768;

    private final BindingRegistry bindings = BindingRegistry.standard();
    private final OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
    private final ItemWalk walks = new ItemWalk();

    @Override
    protected Stream<byte[]> seeds() {
        Stream<byte[]> nfs4 =
                Nfs4TraceTest.exchanges().stream()
                        .map(Nfs4TraceTest.Exchange::wholeCall)
                        .filter(call -> call.length < 2000);
        Stream<byte[]> nfs3 =
                Trace.load("nfs3").stream()
                        .filter(Trace::isCall)
                        .map(
                                call ->
                                        ByteBufUtil.getBytes(
                                                call.buffer(),
                                                call.headerBytes(),
                                                call.buffer().readableBytes()
                                                        - call.headerBytes()));
        Stream<byte[]> made =
                Stream.of(
                                Rpc.write3(1, Rpc.random(101)),
                                Rpc.read3(2, 5000),
                                Rpc.readdir3(3, 4096),
                                Rpc.gssCall(4, Rpc.READ, 1),
                                Rpc.gssCall(5, Rpc.READ, 2),
                                severalItems())
                        .map(Rpc::bytes);
        return Stream.of(nfs4, nfs3, made, procedures()).flatMap(s -> s);
    }

    /** Two WRITEs in one COMPOUND, a READ and an operation that nobody knows. */
    private static ByteBuf severalItems() {
        ByteBuf out = Rpc.call(7, Rpc.NFS, 4, 1).writeInt(0).writeInt(2).writeInt(4);
        Rpc.opaque(out.writeInt(38).writeZero(28), Rpc.random(5));
        Rpc.opaque(out.writeInt(38).writeZero(28), Rpc.random(7));
        return out.writeInt(25).writeZero(24).writeInt(4000).writeInt(9999);
    }

    /** All procedures of programs that nobody has captured, with arguments of zeros. */
    private static Stream<byte[]> procedures() {
        int[][] programs = {
            {100003, 2, 18},
            {100005, 1, 6},
            {100005, 3, 6},
            {100021, 4, 24},
            {100227, 3, 3},
            {0x40000000, 1, 2}
        };
        return Arrays.stream(programs)
                .flatMap(
                        program ->
                                IntStream.range(0, program[2])
                                        .mapToObj(
                                                procedure ->
                                                        Rpc.bytes(
                                                                Rpc.call(
                                                                                6,
                                                                                program[0],
                                                                                program[1],
                                                                                procedure)
                                                                        .writeZero(64))));
    }

    @Override
    protected void check(byte[] call) {
        ByteBuf in = Unpooled.wrappedBuffer(call);
        boolean isCall = rpc.decode(in, 0, call.length);
        assertThat(new OncRpcHeaderDecoder().decode(in, 0, call.length)).isEqualTo(isCall);
        if (!isCall) {
            assertThat(rpc.reductionAllowed).isFalse();
            return;
        }
        int index = rpc.argumentsIndex;
        assertThat(index).isBetween(OncRpcHeaderDecoder.MINIMUM_CALL_BYTES, call.length);
        assertThat(index & 3).isZero();
        // One byte less is too short for the header.
        assertThat(new OncRpcHeaderDecoder().decode(in, 0, index - 1)).isFalse();

        int version = rpc.version;
        int procedure = rpc.procedure;
        UpperLayerBinding binding = bindings.find(rpc.program, version);
        ItemWalk.Found found =
                walks.check(
                        call, index, cursor -> binding.walkArguments(version, procedure, cursor));
        walks.walk(
                call,
                index,
                ItemInChunkPredicate.NONE,
                cursor -> binding.isIdempotent(version, procedure, cursor));
        ReplyLimits limits =
                limits(binding, version, procedure, call, index, ItemInChunkPredicate.NONE);
        if (limits != null && found.complete()) {
            boolean[] leaves = new boolean[found.items().size()];
            Arrays.fill(leaves, true);
            assertThat(
                            limits(
                                    binding,
                                    version,
                                    procedure,
                                    Arrays.copyOf(
                                            ItemWalk.without(call, found, leaves), call.length),
                                    index,
                                    (position, ordinal, length) -> true))
                    .usingRecursiveComparison()
                    .isEqualTo(limits);
        }
    }

    private static ReplyLimits limits(
            UpperLayerBinding binding,
            int version,
            int procedure,
            byte[] call,
            int index,
            ItemInChunkPredicate reduction) {
        ReplyLimits limits = new ReplyLimits();
        XdrCursor arguments =
                new XdrCursor()
                        .wrap(Unpooled.wrappedBuffer(call), 0, index, call.length, reduction);
        boolean complete = true;
        try {
            binding.limitResults(version, procedure, arguments, limits);
        } catch (MalformedMessageException e) {
            complete = false;
        }
        assertThat(limits.fixedBytes()).isNotNegative();
        assertThat(limits.sinks()).isBetween(0, MOST_SINKS);
        for (int i = 0; i < limits.sinks(); i++) {
            assertThat(limits.sinkBytes(i)).isBetween(0L, 0xffffffffL);
        }
        assertThat(limits.totalBytes())
                .isBetween(limits.fixedBytes(), MOST_OF_A_WORD * (1 + call.length / 4));
        return complete ? limits : null;
    }
}
