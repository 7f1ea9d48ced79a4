// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.CorruptedFrameException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class RecordMarkingAdapterTest {

    @Test
    void inboundMessagesAreMarked() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        channel.writeInbound(Unpooled.buffer().writeInt(7).writeInt(1));
        ByteBuf marked = channel.readInbound();
        assertThat(marked.readableBytes()).isEqualTo(12);
        assertThat(marked.readInt()).isEqualTo(0x80000008);
        assertThat(marked.readLong()).isEqualTo(0x700000001L);
        marked.release();
        channel.finishAndReleaseAll();
    }

    @Property(tries = 300)
    void recordsComeOutWholeHoweverTheyAreCut(@ForAll long seed) {
        Random random = new Random(seed);
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(1000));
        List<byte[]> records = new ArrayList<>();
        ByteBuf stream = Unpooled.buffer();
        for (int i = random.nextInt(5); i > 0; i--) {
            byte[] record = Rpc.random(random.nextInt(200));
            records.add(record);
            int at = 0;
            while (record.length - at > 20 && random.nextBoolean()) {
                stream.writeInt(20).writeBytes(record, at, 20);
                at += 20;
            }
            stream.writeInt(0x80000000 | (record.length - at))
                    .writeBytes(record, at, record.length - at);
        }
        List<ChannelFuture> futures = new ArrayList<>();
        while (stream.isReadable()) {
            int length = 1 + random.nextInt(stream.readableBytes());
            futures.add(channel.writeAndFlush(stream.readBytes(length)));
        }
        for (byte[] record : records) {
            ByteBuf written = channel.readOutbound();
            assertThat(Rpc.bytes(written)).isEqualTo(record);
        }
        assertThat(channel.outboundMessages()).isEmpty();
        futures.forEach(future -> assertThat(future.isSuccess()).isTrue());
        assertThat(channel.finishAndReleaseAll()).isFalse();
    }

    @Test
    void recordsThatAreTooLongFail() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingAdapter(100));
        ByteBuf tooLong = Unpooled.buffer().writeInt(0x80000065);
        assertThatThrownBy(() -> channel.writeAndFlush(tooLong).sync())
                .isInstanceOf(CorruptedFrameException.class)
                .hasMessageContaining("101");
        assertThat(tooLong.refCnt()).isZero();
        channel.finishAndReleaseAll();
    }

    @Test
    void oldCodecsStayInThePipeline() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            RpcPair.on(
                    pair.clientChannel,
                    () ->
                            pair.clientChannel
                                    .pipeline()
                                    .addBefore(
                                            pair.clientChannel
                                                    .pipeline()
                                                    .context(pair.client)
                                                    .name(),
                                            null,
                                            new RecordMarkingAdapter(1 << 20)));
            byte[] call = Rpc.bytes(Rpc.write3(5, Rpc.random(9000)));
            pair.call(Unpooled.buffer().writeInt(0x80000000 | call.length).writeBytes(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            pair.reply(Rpc.reply(5));
            byte[] reply = pair.client.takeBytes();
            assertThat(reply).hasSize(28);
            assertThat(reply[0]).isEqualTo((byte) 0x80);
        }
    }
}
