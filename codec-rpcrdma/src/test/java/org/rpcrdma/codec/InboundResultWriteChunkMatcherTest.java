// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/** Results in the Write chunks that a responder has chosen for them, or in none of them. */
class InboundResultWriteChunkMatcherTest {

    private static final int SINKS = 3;

    /** Offers {@value #SINKS} Write chunks, and a Reply chunk from this procedure on. */
    private static final int WITH_REPLY_CHUNK = 9000;

    private static RpcRdmaConfig.Builder config() {
        return RpcPair.usual().bindings(List.of(new TestBinding(SINKS)));
    }

    private static ByteBuf call(int procedure) {
        return Rpc.call(7, TestBinding.PROGRAM, 2, procedure);
    }

    private static byte[][] results(String lengths) {
        return Arrays.stream(lengths.split(" "))
                .map(length -> Rpc.random(Integer.parseInt(length)))
                .toArray(byte[][]::new);
    }

    private static ByteBuf whole(byte[]... results) {
        ByteBuf out = Rpc.reply(7);
        for (byte[] data : results) {
            Rpc.opaque(out.writeInt(TestBinding.ELIGIBLE), data);
        }
        return out.writeInt(TestBinding.END);
    }

    /**
     * Answers the call that the responder has taken.
     *
     * @param chunks for each result the number of its Write chunk, or a minus
     */
    private static void answer(RawPeer server, String chunks, byte[]... results) throws Exception {
        TransportHeader header = server.mirrored(TransportHeader.RDMA_MSG);
        WriteList offered = server.header.writes();
        ByteBuf stream = Rpc.reply(7);
        for (int i = 0; i < results.length; i++) {
            String chunk = chunks.split(" ", -1)[i];
            stream.writeInt(TestBinding.ELIGIBLE);
            if (chunk.equals("-")) {
                Rpc.opaque(stream, results[i]);
                continue;
            }
            int segment = offered.firstSegment(Integer.parseInt(chunk));
            server.write(offered.handle(segment), offered.offset(segment), results[i]);
            header.writes().length(segment, results[i].length);
            stream.writeInt(results[i].length);
        }
        server.send(header, stream.writeInt(TestBinding.END));
    }

    // ------------------------------------------------------------------ results of no bytes

    /** First those that take their chunks, then those that leave them to the next result. */
    @ParameterizedTest
    @CsvSource({
        "0 500, - 1",
        "0 0 500, - - 2",
        "500 0 600, 0 - 2",
        "0 500 600, - 1 2",
        "0 0 0 500, - - - -",
        "500 0 0 600, 0 - - -",
        "0 0 0, - - -",
        "0 500, - 0",
        "0 0 500, - - 0",
        "500 0 600, 0 - 1",
        "0 500 600, - 0 1",
        "0 0 0 500, - - - 0",
        "500 0 0 600, 0 - - 1",
        "0 500 0 600 0 700 800, - 0 - 1 - 2 -",
        "0 0 500 600, - - 1 2"
    })
    @Proves({"V1-WRITE-28", "V1-WRITE-13", "V1-WRITE-14"})
    void aResultOfNoBytesTakesItsChunkOrNot(String lengths, String chunks) throws Exception {
        byte[][] results = results(lengths);
        byte[] expected = Rpc.bytes(whole(results));
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call(3));
            server.take();
            assertThat(server.header.writes().chunks()).isEqualTo(SINKS);
            answer(server, chunks, results);
            assertThat(pair.client.takeBytes()).isEqualTo(expected);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.BAD_REPLIES)).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    @Proves({"V1-WRITE-28", "ULB-17"})
    void withFewerChunksThanResults(int chunksPerCall) throws Exception {
        RpcRdmaConfig config = config().chunksPerCall(chunksPerCall).build();
        byte[][] results = results("0 0 500");
        byte[] expected = Rpc.bytes(whole(results));
        for (String chunks : List.of("- - 0", "- - -")) {
            try (RpcPair pair = RpcPair.rawServer(config, config);
                    RawPeer server = RawPeer.server(pair)) {
                pair.call(call(3));
                server.take();
                assertThat(server.header.writes().chunks()).isEqualTo(chunksPerCall);
                answer(server, chunks, results);
                assertThat(pair.client.takeBytes()).isEqualTo(expected);
            }
        }
    }

    /** Where the user's memory is, there the result is; which one it is says its position. */
    @ParameterizedTest
    @CsvSource({
        "0 500 600, - 1 2, 0 1 2",
        "0 500 600, - 0 1, 1 2 -",
        "500 0 600, 0 - 1, 0 2 -",
        "500 0 600, 0 - 2, 0 1 2",
        "0 0 600, - - 0, 2 1 -"
    })
    @Proves({"V1-WRITE-28", "API-12", "V1-WRITE-19"})
    void aSinkSaysWhichResultItHas(String lengths, String chunks, String expected)
            throws Exception {
        byte[][] results = results(lengths);
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            RpcMessage call = new RpcMessage(call(3));
            for (int i = 0; i < SINKS; i++) {
                call.addSink(Unpooled.directBuffer(1000, 1000));
            }
            pair.call(call);
            server.take();
            answer(server, chunks, results);
            RpcMessage reply = (RpcMessage) pair.client.take();
            for (int i = 0; i < SINKS; i++) {
                String result = expected.split(" ", -1)[i];
                if (result.equals("-")) {
                    assertThat(reply.sinkPosition(i)).isEqualTo(-1);
                    assertThat(reply.sink(i).isReadable()).isFalse();
                    continue;
                }
                int number = Integer.parseInt(result);
                int position = 24;
                for (int before = 0; before < number; before++) {
                    position += 8 + results[before].length;
                }
                assertThat(reply.sinkPosition(i)).as("sink " + i).isEqualTo(position + 8);
                assertThat(reply.sinkLength(i)).isEqualTo(results[number].length);
                assertThat(ByteBufUtil.getBytes(reply.sink(i))).isEqualTo(results[number]);
            }
            reply.release();
        }
    }

    /** A used chunk is that of a result, and a result with a chunk is in it. */
    @ParameterizedTest
    @CsvSource({
        "500 600, - 1",
        "0 500, - 2",
        "0 500, - -",
        "500, 1",
        "0 0, - 0",
        "0 500 600, - 0 2"
    })
    @Proves({"V1-CHUNK-15", "V1-CHUNK-16", "V1-WRITE-28"})
    void otherOrdersEndTheCall(String lengths, String chunks) throws Exception {
        byte[][] results = results(lengths);
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call(3));
            server.take();
            if (lengths.equals("0 0")) {
                results[1] = new byte[4]; // in the chunk of a result whose count word is 0
                TransportHeader header = server.mirrored(TransportHeader.RDMA_MSG);
                header.writes().length(0, 4);
                server.send(header, whole(new byte[0], new byte[0]));
            } else {
                answer(server, chunks, results);
            }
            assertThat(pair.client.takeFailure())
                    .isInstanceOfAny(DdpEligibilityException.class, MalformedReplyException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    /** Whatever each result of no bytes does with its chunk, the others are found. */
    @Property(tries = 500)
    @Proves("V1-WRITE-28")
    void anyMixtureOfResultsOfNoBytes(@ForAll long seed) {
        Random random = new Random(seed);
        WriteList list = new WriteList();
        int offered = random.nextInt(6);
        int[] used = new int[offered];
        int[] lengths = new int[random.nextInt(8)];
        int[] expected = new int[lengths.length];
        int next = 0;
        for (int i = 0; i < lengths.length; i++) {
            lengths[i] = random.nextInt(2) * (1 + random.nextInt(100));
            expected[i] = InboundResultWriteChunkMatcher.INLINE;
            if (lengths[i] == 0) {
                next += random.nextInt(2);
            } else if (next < offered) {
                used[next] = lengths[i];
                expected[i] = next++;
            }
        }
        for (int length : used) {
            list.add(1, length, 0);
            list.endChunk();
        }
        InboundResultWriteChunkMatcher chunks = new InboundResultWriteChunkMatcher().of(list);
        for (int i = 0; i < lengths.length; i++) {
            assertThat(chunks.isReduced(0, i, lengths[i])).isEqualTo(expected[i] >= 0);
            assertThat(chunks.chunkOf(i)).isEqualTo(expected[i]);
        }
        assertThat(chunks.isAnyLeftInline()).isFalse();
        assertThat(chunks.isAnyChunkLeft()).isFalse();
    }

    /** Empty chunks keep results inline (RFC 8166, 4.3.2.3), also behind results of no bytes. */
    @Property(tries = 500)
    @Proves({"V1-WRITE-12", "V1-WRITE-28", "ULB-26"})
    void anyMixtureOfEmptyChunks(@ForAll long seed) {
        Random random = new Random(seed);
        WriteList list = new WriteList();
        int[] lengths = new int[random.nextInt(8)];
        int[] expected = new int[lengths.length];
        int offered = random.nextInt(6);
        for (int i = 0; i < Math.max(offered, lengths.length); i++) {
            boolean isEmpty = random.nextBoolean();
            if (i < lengths.length) {
                lengths[i] = random.nextInt(2) * (1 + random.nextInt(100));
                expected[i] =
                        i >= offered || isEmpty || lengths[i] == 0
                                ? InboundResultWriteChunkMatcher.INLINE
                                : i;
            }
            if (i < offered) {
                if (!isEmpty) {
                    list.add(1, i < lengths.length ? lengths[i] : 0, 0);
                }
                list.endChunk();
            }
        }
        InboundResultWriteChunkMatcher chunks = new InboundResultWriteChunkMatcher().of(list);
        for (int i = 0; i < lengths.length; i++) {
            chunks.isReduced(0, i, lengths[i]);
            assertThat(chunks.chunkOf(i)).isEqualTo(expected[i]);
        }
        assertThat(chunks.isAnyLeftInline()).isFalse();
        assertThat(chunks.isAnyChunkLeft()).isFalse();
    }

    // ------------------------------------------------------------------ sinks without room

    /** A window of no bytes is none. What is behind it keeps its number. */
    @Test
    @Proves("V1-WRITE-30")
    void nothingIsExposedForASinkWithoutRoom() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            RpcMessage call = new RpcMessage(call(3));
            call.addSink(Unpooled.directBuffer(1).writeByte(0).capacity(1));
            call.addSink(Unpooled.directBuffer(1000, 1000));
            pair.call(call.addSink(Unpooled.directBuffer(1, 1).writeByte(0)));
            server.take();
            WriteList offered = server.header.writes();
            assertThat(offered.chunks()).isEqualTo(2);
            assertThat(offered.isEmptyChunk(0)).isTrue();
            assertThat(offered.chunkLength(1)).isEqualTo(1000);
            byte[][] results = results("0 500 0");
            answer(server, "- 1 -", results);
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(ByteBufUtil.getBytes(reply.sink(1))).isEqualTo(results[1]);
            assertThat(reply.sinkPosition(0)).isEqualTo(-1);
            assertThat(reply.sinkPosition(2)).isEqualTo(-1);
            reply.release();
        }
    }

    // ------------------------------------------------------------------ all in the Reply chunk

    private static void answerInReplyChunk(RawPeer server, byte[] reply) throws Exception {
        TransportHeader header = server.mirrored(TransportHeader.RDMA_NOMSG);
        assertThat(header.writes().chunks()).isEqualTo(SINKS);
        header.writes().clear();
        header.reply().length(0, reply.length);
        server.write(server.header.reply().handle(0), server.header.reply().offset(0), reply);
        server.send(header, RawPeer.nothing());
    }

    @Test
    @Proves("V1-REPLY-15")
    void allInTheReplyChunkWithoutTheWriteList() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call(WITH_REPLY_CHUNK));
            server.take();
            byte[] reply = Rpc.bytes(whole(results("3001 0 4000")));
            answerInReplyChunk(server, reply);
            assertThat(pair.client.takeBytes()).isEqualTo(reply);

            RpcMessage call = new RpcMessage(call(WITH_REPLY_CHUNK));
            for (int i = 0; i < SINKS; i++) {
                call.addSink(Unpooled.directBuffer(5000, 5000));
            }
            pair.call(call);
            server.take();
            answerInReplyChunk(server, reply);
            RpcMessage received = (RpcMessage) pair.client.take();
            assertThat(ByteBufUtil.getBytes(received.content())).isEqualTo(reply);
            for (int i = 0; i < SINKS; i++) {
                assertThat(received.sinkPosition(i)).isEqualTo(-1);
                assertThat(received.sink(i).isReadable()).isFalse();
            }
            received.release();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.DROPPED_BAD_REPLY)).isZero();
        }
    }

    /** NFS-Ganesha cuts off what does not fit its Reply chunk, and says nothing. */
    @Test
    @Proves({"V1-REPLY-15", "API-13"})
    void whatIsCutOffFails() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(config().build(), config().build());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(call(WITH_REPLY_CHUNK));
            server.take();
            byte[] reply = Rpc.bytes(whole(results("3001 0 4000")));
            answerInReplyChunk(server, Arrays.copyOf(reply, reply.length - 8));
            assertThat(pair.client.takeFailure()).isInstanceOf(MalformedReplyException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }
}
