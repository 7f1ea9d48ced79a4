// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.OutboundRecordMarkDetector;

/** Handlers of a TCP pipeline write record marks, others do not: which it is can be told from any message of RPC. */
class OutboundRecordMarkDetectorTest {

    private static final int LAST_FRAGMENT = 0x80000000;

    @Property(tries = 20_000)
    void aMessageWithoutAMarkIsLeftAlone(@ForAll long seed) {
        ByteBuf message = anyMessage(new Random(seed));
        byte[] bytes = ByteBufUtil.getBytes(message);
        assertThat(OutboundRecordMarkDetector.without(message, UnpooledByteBufAllocator.DEFAULT))
                .isSameAs(message);
        assertThat(Rpc.bytes(message)).isEqualTo(bytes);
    }

    @Property(tries = 5_000)
    void aRecordLosesItsMarksHoweverItIsFragmented(@ForAll long seed) {
        Random random = new Random(seed);
        ByteBuf message = anyMessage(random);
        byte[] bytes = ByteBufUtil.getBytes(message);
        ByteBuf record = Unpooled.buffer().writeZero(random.nextInt(9));
        record.readerIndex(record.writerIndex());
        for (int least = 20; message.readableBytes() > least && random.nextBoolean(); least = 0) {
            int length = least + random.nextInt(message.readableBytes() - least);
            record.writeInt(length).writeBytes(message, length);
        }
        record.writeInt(LAST_FRAGMENT | message.readableBytes()).writeBytes(message);
        message.release();
        ByteBuf taken =
                OutboundRecordMarkDetector.without(record, UnpooledByteBufAllocator.DEFAULT);
        assertThat(Rpc.bytes(taken)).isEqualTo(bytes);
        assertThat(record.refCnt()).isZero();
    }

    @Property(tries = 5_000)
    void whatIsNotExactlyOneRecordIsLeftAlone(@ForAll long seed) {
        Random random = new Random(seed);
        ByteBuf message = anyMessage(random).setInt(0, 77);
        int length = message.readableBytes() + (random.nextBoolean() ? 4 : -4);
        ByteBuf other = Unpooled.buffer().writeInt(LAST_FRAGMENT | length).writeBytes(message);
        message.release();
        assertThat(OutboundRecordMarkDetector.without(other, UnpooledByteBufAllocator.DEFAULT))
                .isSameAs(other);
        other.release();
    }

    @Test
    @Proves("V1-FRAME-03")
    void marksDoNotGoOnTheWire() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            pair.call(marked(Rpc.echo(1, 8))).sync();
            assertThat(pair.server.takeBytes()).isEqualTo(Rpc.bytes(Rpc.echo(1, 8)));
            pair.reply(marked(Rpc.reply(1).writeLong(5))).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(Rpc.bytes(Rpc.reply(1).writeLong(5)));
        }
    }

    /** Such a call is held until the version is known, as one without a mark is. */
    @Test
    void aMarkedCallWaitsForTheVersion() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().versionTwo(VersionTwoConfig.defaults()).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.call(marked(Rpc.echo(1, 8)));
            int probe = pair.server.takeXid();
            assertThat(probe).isNotEqualTo(1);
            pair.reply(Rpc.reply(probe));
            assertThat(pair.server.takeBytes()).isEqualTo(Rpc.bytes(Rpc.echo(1, 8)));
            assertThat(pair.clientConnection().version()).isEqualTo(2);
        }
    }

    @Test
    void callsStartAtIndexZero() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            for (int length : new int[] {8, 20_000}) {
                pair.call(Rpc.echo(length, length));
                ByteBuf call = pair.server.takeBuffer();
                assertThat(call.readerIndex()).isZero();
                call.release();
                pair.reply(Rpc.reply(length));
                assertThat(pair.client.takeXid()).isEqualTo(length);
            }
        }
    }

    @Test
    void aCallWhoseAnswerCannotBeReadFails() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            pair.call(Rpc.echo(7, 8));
            pair.server.takeBytes();
            ByteBuf two = Unpooled.wrappedBuffer(marked(Rpc.reply(7)), marked(Rpc.reply(8)));
            assertThatThrownBy(() -> pair.reply(two).sync())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("RecordMarkingAdapter");
            assertThat(two.refCnt()).isZero();
            byte[] systemError = Rpc.bytes(Rpc.reply(7).setInt(20, 5));
            assertThat(pair.client.takeBytes()).isEqualTo(systemError);
            pair.call(Rpc.echo(7, 8));
            assertThat(pair.server.takeXid()).isEqualTo(7);
        }
    }

    private static ByteBuf marked(ByteBuf message) {
        return Unpooled.wrappedBuffer(
                Unpooled.buffer().writeInt(LAST_FRAGMENT | message.readableBytes()), message);
    }

    /** A call or a reply of RFC 5531, with XIDs, lengths and flavors that look like something else. */
    private static ByteBuf anyMessage(Random random) {
        ByteBuf out = Unpooled.buffer().writeInt(0).writeInt(random.nextInt(2));
        if (out.getInt(4) == OncRpcHeaderDecoder.CALL) {
            out.writeInt(2).writeInt(oneOf(random, 401, 100003, random.nextInt(1 << 30) + 401));
            out.writeInt(small(random)).writeInt(small(random));
            authenticator(out, random);
            authenticator(out, random);
            body(out, random);
        } else if (random.nextBoolean()) {
            out.writeInt(0);
            authenticator(out, random);
            out.writeInt(oneOf(random, 0, 0, 5));
            body(out, random);
        } else if (random.nextBoolean()) {
            out.writeInt(1).writeInt(0).writeInt(2).writeInt(2);
        } else {
            out.writeInt(1).writeInt(1).writeInt(random.nextInt(15));
        }
        int length = out.readableBytes();
        int fragment = Math.max(0, length - 8 - random.nextInt(length));
        int xid = oneOf(random, 0, 1, LAST_FRAGMENT | (length - 4), fragment, 20, random.nextInt());
        return out.setInt(0, xid);
    }

    private static void authenticator(ByteBuf out, Random random) {
        byte[] body = new byte[random.nextInt(3) == 0 ? random.nextInt(401) : 0];
        for (int i = 3; i < body.length; i += 4) {
            body[i] = (byte) random.nextInt(3);
        }
        Rpc.opaque(out.writeInt(random.nextInt(4)), body);
    }

    private static void body(ByteBuf out, Random random) {
        for (int words = random.nextInt(40); words > 0; words--) {
            out.writeInt(oneOf(random, 0, 1, 2, LAST_FRAGMENT, 4 * (words - 1), random.nextInt()));
        }
    }

    private static int small(Random random) {
        return random.nextInt(4);
    }

    private static int oneOf(Random random, int... values) {
        return values[random.nextInt(values.length)];
    }
}
