// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;

/** A program with several eligible arguments and results, as NFSv4 COMPOUND has them. */
class SeveralItemsTest {

    private static final int PROGRAM = 0x30000001;
    private static final int SINK = 20_000;

    /**
     * Arguments and results: a count, then so many pairs of a word and an eligible opaque, then an opaque that is not.
     */
    private static final class Pairs implements UpperLayerBinding {
        @Override
        public int program() {
            return PROGRAM;
        }

        @Override
        public boolean covers(int version) {
            return version == 1;
        }

        @Override
        public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
            return true;
        }

        @Override
        public void walkArguments(int version, int procedure, XdrCursor in)
                throws MalformedMessageException {
            for (long left = in.uint32(); left > 0; left--) {
                in.skip(4);
                in.eligibleOpaque(1 << 20);
            }
            in.opaque(1 << 20);
        }

        @Override
        public void walkResults(int version, int procedure, XdrCursor in)
                throws MalformedMessageException {
            walkArguments(version, procedure, in);
        }

        @Override
        public void limitResults(
                int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
            limits.results(procedure == 2 ? 9000 : 1000); // procedure 2 has a long tail
            limits.sink(SINK);
            limits.sink(SINK);
        }
    }

    private static RpcRdmaConfig config() {
        return RpcPair.usual().bindings(List.of(new Pairs())).build();
    }

    private static byte[] body(ByteBuf header, int tail, int... lengths) {
        header.writeInt(lengths.length);
        for (int length : lengths) {
            Rpc.opaque(header.writeInt(length), Rpc.random(length));
        }
        return ByteBufUtil.getBytes(Rpc.opaque(header, Rpc.random(tail)));
    }

    @ParameterizedTest
    @CsvSource({
        "5003, 7001, 12, 1",
        "1, 9000, 0, 1",
        "9001, 0, 5, 1",
        "20000, 20000, 3, 1",
        "19999, 19997, 8000, 2",
        "0, 0, 8000, 2",
        "3, 0, 0, 1",
        "0, 5, 4000, 2"
    })
    @Proves({
        "V1-READ-02",
        "V1-READ-03",
        "V1-WRITE-13",
        "V1-WRITE-17",
        "V1-REPLY-09",
        "V1-CHUNK-03",
        "V1-CHUNK-05",
        "V1-CHUNK-02",
        "V1-LONG-10"
    })
    void twoArgumentsAndTwoResults(int first, int second, int tail, int procedure)
            throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            byte[] call = body(Rpc.call(1, PROGRAM, 1, procedure), 10, first, second);
            pair.call(Unpooled.directBuffer().writeBytes(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            byte[] reply = body(Rpc.reply(1), tail, first, second);
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isGreaterThanOrEqualTo(first + second);
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "3, 500"})
    @Proves({"V1-WRITE-14", "V1-WRITE-15", "V1-WRITE-16"})
    void fewerAndMoreResultsThanChunks(int results, int length) throws Exception {
        try (RpcPair pair = RpcPair.of(config(), config())) {
            pair.call(Unpooled.wrappedBuffer(body(Rpc.call(1, PROGRAM, 1, 1), 10)));
            pair.server.takeBytes();
            int[] lengths = new int[results];
            java.util.Arrays.fill(lengths, length);
            byte[] reply = body(Rpc.reply(1), 16, lengths);
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo((long) length * Math.min(2, results));
        }
    }

    @Test
    @Proves({"V1-CHUNK-02", "V1-CRED-17", "V1-CHUNK-09"})
    void manyRandomCallsAtOnceInAnyOrder() throws Exception {
        Random random = new Random(7);
        int window = 12;
        try (RpcPair pair = RpcPair.of(config(), config())) {
            pair.call(Rpc.call(1, PROGRAM, 1, 0).writeInt(0).writeInt(0));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1).writeInt(0).writeInt(0));
            pair.client.takeBytes();
            for (int round = 0; round < 20; round++) {
                byte[][] calls = new byte[window][];
                for (int i = 0; i < window; i++) {
                    int[] lengths = random.ints(random.nextInt(3), 0, SINK).toArray();
                    calls[i] =
                            body(
                                    Rpc.call(i, PROGRAM, 1, 1 + random.nextInt(2)),
                                    random.nextInt(900),
                                    lengths);
                    pair.clientChannel.write(
                            random.nextBoolean()
                                    ? Unpooled.wrappedBuffer(calls[i])
                                    : pair.clientChannel
                                            .alloc()
                                            .directBuffer()
                                            .writeBytes(calls[i]));
                }
                pair.clientChannel.flush();
                byte[][] replies = new byte[window][];
                for (int i = 0; i < window; i++) {
                    byte[] call = pair.server.takeBytes();
                    int xid = Unpooled.wrappedBuffer(call).getInt(0);
                    assertThat(call).isEqualTo(calls[xid]);
                    int[] lengths = random.ints(random.nextInt(3), 0, SINK).toArray();
                    replies[xid] = body(Rpc.reply(xid), random.nextInt(500), lengths);
                    pair.serverChannel.write(
                            pair.serverChannel.alloc().buffer().writeBytes(replies[xid]));
                    if (random.nextBoolean()) {
                        pair.serverChannel.flush();
                    }
                }
                pair.serverChannel.flush();
                for (int i = 0; i < window; i++) {
                    byte[] reply = pair.client.takeBytes();
                    int xid = Unpooled.wrappedBuffer(reply).getInt(0);
                    assertThat(reply).isEqualTo(replies[xid]);
                }
            }
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }
}
