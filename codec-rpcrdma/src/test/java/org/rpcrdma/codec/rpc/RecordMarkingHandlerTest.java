// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.codec.RpcMessage;

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
    void marksNeedNoPromiseNorDoRecordsWithAVoidOne() {
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
        assertThat(isVoid).containsExactly(true, true, true, false);
        assertThat(channel.finishAndReleaseAll()).isTrue();
    }

    /** Below the handler: fails one of the writes. */
    private static final class Failing extends ChannelOutboundHandlerAdapter {
        private int before;

        Failing(int before) {
            this.before = before;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (before-- == 0) {
                ReferenceCountUtil.release(message);
                promise.setFailure(new IOException("of the test"));
            } else {
                ctx.write(message, promise);
            }
        }
    }

    /** Of two writes, the mark and the record, one alone is no record, and nothing that follows would be one. */
    @ParameterizedTest
    @CsvSource({"0, false", "0, true", "1, false", "1, true"})
    void aRecordThatFailsInPartClosesTheChannel(int before, boolean isVoid) {
        EmbeddedChannel channel =
                new EmbeddedChannel(new Failing(before), new RecordMarkingHandler());
        ByteBuf record = Unpooled.wrappedBuffer(new byte[4]);
        ChannelPromise promise = isVoid ? channel.voidPromise() : channel.newPromise();
        channel.writeAndFlush(record, promise);
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
        assertThat(record.refCnt()).isZero();
        if (isVoid || before == 0) {
            assertThatThrownBy(channel::checkException).hasMessage("of the test");
        } else {
            assertThat(promise.cause()).hasMessage("of the test");
        }
        channel.releaseOutbound();
    }

    /** Netty would leave the record out, and send its mark. */
    @Test
    void aRecordIsNotCancelledBehindItsMark() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        ByteBuf record = Unpooled.wrappedBuffer(new byte[] {1, 2, 3, 4});
        ChannelFuture written = channel.write(record);
        assertThat(written.cancel(false)).isFalse();
        channel.flush();
        ByteBuf mark = channel.readOutbound();
        assertThat(mark.readInt()).isEqualTo(0x80000004);
        mark.release();
        assertThat(channel.<ByteBuf>readOutbound()).isSameAs(record);
        assertThat(written.isSuccess()).isTrue();
        record.release();
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void aRecordWithoutMemoryForItsMarkIsReleased() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        channel.config().setAllocator(new RpcServerHandlerTest.NoMemory());
        ByteBuf record = Unpooled.wrappedBuffer(new byte[4]);
        assertThat(channel.writeAndFlush(record).cause()).isInstanceOf(OutOfMemoryError.class);
        assertThat(record.refCnt()).isZero();
        assertThat(channel.finish()).isFalse();
    }

    /** The second is no message: its item is behind the end of the payload. */
    @ParameterizedTest
    @CsvSource({"true, 40", "false, 400"})
    void aMessageThatCannotBeJoinedIsReleased(boolean isWithoutMemory, int position) {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        if (isWithoutMemory) {
            channel.config().setAllocator(new RpcServerHandlerTest.NoMemory());
        }
        ByteBuf payload = Unpooled.wrappedBuffer(new byte[44]);
        ByteBuf item = Unpooled.wrappedBuffer(new byte[8]);
        RpcMessage message = new RpcMessage(payload).addItem(position, item);
        assertThat(channel.writeAndFlush(message).cause())
                .isInstanceOf(
                        isWithoutMemory ? OutOfMemoryError.class : IndexOutOfBoundsException.class);
        assertThat(List.of(message.refCnt(), payload.refCnt(), item.refCnt())).containsOnly(0);
        assertThat(channel.isOpen()).isTrue();
        assertThat(channel.finish()).isFalse();
    }

    /** A fragment that was left out would make another record of the rest. */
    @Test
    void aFragmentWithoutMemoryToJoinItWaits() {
        EmbeddedChannel channel = new EmbeddedChannel(new RecordMarkingHandler());
        ByteBufAllocator memory = channel.alloc();
        channel.config().setAllocator(new RpcServerHandlerTest.NoMemory());
        ByteBuf stream = Unpooled.buffer().writeInt(3).writeBytes(new byte[] {1, 2, 3});
        assertThatThrownBy(() -> channel.writeInbound(stream)).isInstanceOf(OutOfMemoryError.class);
        channel.config().setAllocator(memory);
        channel.writeInbound(Unpooled.buffer().writeInt(0x80000002).writeBytes(new byte[] {4, 5}));
        ByteBuf message = channel.readInbound();
        assertThat(ByteBufUtil.getBytes(message)).containsExactly(1, 2, 3, 4, 5);
        message.release();
        assertThat(channel.finish()).isFalse();
        assertThat(stream.refCnt()).isZero();
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

    /** Replies to earlier calls are still to come. */
    @Test
    void aRecordBehindTheEndOfTheOutputFailsAlone() throws Exception {
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            NioSocketChannel channel =
                    (NioSocketChannel)
                            new Bootstrap()
                                    .group(group)
                                    .channel(NioSocketChannel.class)
                                    .handler(new RecordMarkingHandler())
                                    .connect(listener.getLocalAddress())
                                    .sync()
                                    .channel();
            channel.shutdownOutput().sync();
            assertThat(channel.writeAndFlush(Unpooled.buffer(4).writeInt(1)).await().cause())
                    .isNotNull();
            channel.eventLoop().submit(() -> {}).sync();
            assertThat(channel.isOpen()).isTrue();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
