// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.TooLongFrameException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class RecordMarkingHandlerTest {

    @Property(tries = 200)
    void recordsComeOutAsTheyWentInHoweverTheStreamIsCut(
            @ForAll @Size(max = 8) List<@IntRange(max = 3000) Integer> lengths,
            @ForAll @IntRange(min = 1, max = 700) int cut,
            @ForAll long seed) {
        Random random = new Random(seed);
        EmbeddedChannel out = new EmbeddedChannel(new RecordMarkingHandler());
        EmbeddedChannel in = new EmbeddedChannel(new RecordMarkingHandler());
        byte[][] records = new byte[lengths.size()][];
        ByteBuf stream = Unpooled.buffer();
        for (int i = 0; i < records.length; i++) {
            records[i] = new byte[lengths.get(i)];
            random.nextBytes(records[i]);
            out.writeOutbound(Unpooled.wrappedBuffer(records[i]));
            for (ByteBuf part = out.readOutbound(); part != null; part = out.readOutbound()) {
                stream.writeBytes(part);
                part.release();
            }
        }
        while (stream.isReadable()) {
            in.writeInbound(stream.readBytes(Math.min(cut, stream.readableBytes())));
        }
        for (byte[] record : records) {
            ByteBuf message = in.readInbound();
            assertThat(ByteBufUtil.getBytes(message)).isEqualTo(record);
            assertThat(message.readerIndex()).isZero();
            message.release();
        }
        assertThat(in.finish()).isFalse();
        assertThat(out.finish()).isFalse();
        stream.release();
    }

    @Test
    void aRecordWithAVoidPromiseNeedsNoPromiseForItsMark() {
        List<Boolean> isVoid = new ArrayList<>();
        EmbeddedChannel channel =
                new EmbeddedChannel(
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(
                                    ChannelHandlerContext ctx,
                                    Object message,
                                    ChannelPromise promise) {
                                isVoid.add(promise.isVoid());
                                ctx.write(message, promise);
                            }
                        },
                        new RecordMarkingHandler());
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[4]), channel.voidPromise());
        assertThat(channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[4])).isSuccess()).isTrue();
        assertThat(isVoid).containsExactly(true, true, false, false);
        assertThat(channel.finishAndReleaseAll()).isTrue();
    }

    @Test
    void fragmentsAreJoined() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        ByteBuf stream = Unpooled.buffer().writeInt(3).writeBytes(new byte[] {1, 2, 3}).writeInt(0);
        channel.writeInbound(stream.writeInt(0x80000002).writeBytes(new byte[] {4, 5}));
        ByteBuf message = channel.readInbound();
        assertThat(ByteBufUtil.getBytes(message)).containsExactly(1, 2, 3, 4, 5);
        message.release();
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void aRecordTooLongEndsTheConnectionBeforeItIsThere() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        assertThatThrownBy(() -> channel.writeInbound(Unpooled.buffer().writeInt(0xffffffff)))
                .isInstanceOf(TooLongFrameException.class);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void fragmentsWithoutEndEndTheConnection() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        assertThatThrownBy(() -> channel.writeInbound(Unpooled.buffer().writeZero(4 * 2000)))
                .isInstanceOf(TooLongFrameException.class);
        assertThat(channel.isOpen()).isFalse();
        assertThat(channel.finish()).isFalse();
    }
}
