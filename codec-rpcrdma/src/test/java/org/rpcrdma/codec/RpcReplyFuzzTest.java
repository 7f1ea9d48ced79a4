// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.collection.IntObjectHashMap;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.Stream;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * An RPC reply: its header, and what the bindings make of its results. An input is three words, the program, version
 * and procedure of the call, and a whole reply.
 */
class RpcReplyFuzzTest extends FuzzTarget {

    private static final int CALL_BYTES = 12;

    private final BindingRegistry bindings = BindingRegistry.standard();
    private final ItemWalk walks = new ItemWalk();

    @Override
    protected Stream<byte[]> seeds() {
        Stream<byte[]> nfs4 =
                Nfs4TraceTest.exchanges().stream()
                        .filter(exchange -> exchange.wholeReply().length < 2000)
                        .map(
                                exchange ->
                                        seed(
                                                4,
                                                exchange.call().procedure(),
                                                exchange.wholeReply()));
        IntObjectHashMap<Trace> calls = new IntObjectHashMap<>();
        Trace.load("nfs3").stream().filter(Trace::isCall).forEach(c -> calls.put(c.xid(), c));
        Stream<byte[]> nfs3 =
                Trace.load("nfs3").stream()
                        .filter(send -> !send.isCall() && send.buffer().readableBytes() > 60)
                        .map(
                                send ->
                                        seed(
                                                3,
                                                calls.get(send.xid()).procedure(),
                                                ByteBufUtil.getBytes(
                                                        send.buffer(),
                                                        send.headerBytes(),
                                                        send.buffer().readableBytes()
                                                                - send.headerBytes())));
        ByteBuf link = Rpc.reply(2).writeInt(0).writeInt(1).writeZero(84);
        Stream<byte[]> made =
                Stream.of(
                        seed(3, Rpc.READ, Rpc.bytes(Rpc.read3Reply(1, Rpc.random(101)))),
                        seed(3, 5, Rpc.bytes(Rpc.opaque(link, Rpc.random(9)))),
                        seed(
                                2,
                                6,
                                Rpc.bytes(Rpc.opaque(Rpc.reply(3).writeZero(72), Rpc.random(7)))),
                        seed(
                                2,
                                5,
                                Rpc.bytes(Rpc.opaque(Rpc.reply(4).writeZero(4), Rpc.random(6)))));
        return Stream.of(nfs4, nfs3, made, Stream.of(seed(4, 1, severalItems()))).flatMap(s -> s);
    }

    /** READ, READLINK and READ in one COMPOUND, none of a length that is a multiple of 4. */
    private static byte[] severalItems() {
        ByteBuf out = Rpc.reply(5).writeInt(0).writeInt(0).writeInt(3);
        Rpc.opaque(out.writeInt(25).writeInt(0).writeInt(0), Rpc.random(5));
        Rpc.opaque(out.writeInt(27).writeInt(0), Rpc.random(7));
        Rpc.opaque(out.writeInt(25).writeInt(0).writeInt(1), Rpc.random(10));
        return Rpc.bytes(out);
    }

    private static byte[] seed(int version, int procedure, byte[] reply) {
        return ByteBuffer.allocate(CALL_BYTES + reply.length)
                .putInt(Rpc.NFS)
                .putInt(version)
                .putInt(procedure)
                .put(reply)
                .array();
    }

    @Override
    protected void check(byte[] input) {
        if (input.length < CALL_BYTES) {
            return;
        }
        ByteBuffer call = ByteBuffer.wrap(input);
        int program = call.getInt();
        int version = call.getInt();
        int procedure = call.getInt();
        byte[] reply = Arrays.copyOfRange(input, CALL_BYTES, input.length);
        ByteBuf in = Unpooled.wrappedBuffer(reply);
        OncRpcHeaderDecoder rpc = new OncRpcHeaderDecoder();
        int index = rpc.resultsIndex(in, 0, reply.length);
        if (index < 0) {
            assertThat(index).isEqualTo(-1);
            return;
        }
        assertThat(index).isBetween(OncRpcHeaderDecoder.REPLY_HEADER_BYTES, reply.length);
        assertThat(index & 3).isZero();
        assertThat(rpc.resultsIndex(in, 0, index - 1)).isEqualTo(-1);
        UpperLayerBinding binding = bindings.find(program, version);
        walks.check(reply, index, cursor -> binding.walkResults(version, procedure, cursor));
    }
}
